// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// The names of an ``UpstreamServer``. A test may change it while servers answer from it.
///
/// ```swift
/// let zone = Zone()
/// try zone.set("www.a.test", to: ["127.0.0.1", "127.0.0.2", "::1"], ttl: 60)
/// zone.set("alias.test", .alias(of: "www.a.test", ttl: 30))
/// zone.set("broken.test", .failure)
/// zone.set("www.a.test", fault: .hugeBody)
/// ```
///
/// Comparison of names ignores case and a trailing dot. A name that is not in the zone does not exist (NXDOMAIN).
public final class Zone: Sendable {
    /// The data of a name.
    public struct Entry: Hashable, Sendable {
        enum Kind: Hashable {
            case addresses([IPAddress])
            case alias(String)
            case noSuchName
            case failure
        }

        let kind: Kind
        let ttl: UInt32

        /// Addresses of either family, in this order. The TTL is in seconds.
        public static func addresses(_ addresses: [IPAddress], ttl: UInt32 = 60) -> Entry {
            Entry(kind: .addresses(addresses), ttl: ttl)
        }

        /// An alias (CNAME). The same answer also contains the target's data. The TTL is in seconds.
        public static func alias(of name: String, ttl: UInt32 = 60) -> Entry {
            Entry(kind: .alias(Zone.key(name)), ttl: ttl)
        }

        /// The name exists but has no address (NOERROR without records).
        public static let noAddress = Entry(kind: .addresses([]), ttl: 60)

        /// The name does not exist (NXDOMAIN). DNS messages allow caching this for 30 seconds.
        public static let noSuchName = Entry(kind: .noSuchName, ttl: 30)

        /// The lookup failed (SERVFAIL, or status 500 in formats without such a code).
        public static let failure = Entry(kind: .failure, ttl: 0)
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var faults: [String: UpstreamFault] = [:]
    }

    private let state = NIOLockedValueBox(State())

    /// Creates an empty zone.
    public init() {}

    /// Sets the addresses of a name. The TTL is in seconds.
    ///
    /// - Throws: ``TestingError`` if an address is not valid.
    public func set(_ name: String, to addresses: [String], ttl: UInt32 = 60) throws {
        let addresses = try addresses.map { text in
            guard let address = IPAddress(text) else {
                throw TestingError(.badAddress, "\"\(text)\" is not an IP address")
            }
            return address
        }
        set(name, .addresses(addresses, ttl: ttl))
    }

    /// Sets the data of a name; nil removes it.
    public func set(_ name: String, _ entry: Entry?) {
        state.withLockedValue { $0.entries[Self.key(name)] = entry }
    }

    /// Sets the fault of every answer for a name; nil removes it. The name needs no entry.
    public func set(_ name: String, fault: UpstreamFault?) {
        state.withLockedValue { $0.faults[Self.key(name)] = fault }
    }

    func fault(of name: String) -> UpstreamFault? {
        state.withLockedValue { $0.faults[Self.key(name)] }
    }

    /// Looks up a name and follows at most 16 aliases.
    func lookUp(_ name: String) -> Finding {
        state.withLockedValue { state in
            var finding = Finding(name: Self.key(name), ttl: .max)
            var current = finding.name
            for _ in 0..<16 {
                let entry = state.entries[current] ?? .noSuchName
                finding.ttl = min(finding.ttl, entry.ttl)
                switch entry.kind {
                case .alias(let target):
                    finding.aliases.append(.init(owner: current, target: target, ttl: entry.ttl))
                    current = target
                    continue
                case .addresses(let addresses): finding.addresses = addresses
                case .noSuchName: finding.code = .noSuchName
                case .failure: finding.code = .failure
                }
                break
            }
            finding.owner = current
            return finding
        }
    }

    fileprivate static func key(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// The result of a lookup.
    struct Finding {
        enum Code: UInt8 {
            case success = 0
            case failure = 2
            case noSuchName = 3
        }

        struct Alias {
            let owner: String
            let target: String
            let ttl: UInt32
        }

        /// The requested name.
        let name: String
        /// The smallest TTL of the alias chain.
        var ttl: UInt32
        var aliases: [Alias] = []
        /// The last name of the alias chain, which owns the addresses.
        var owner = ""
        var addresses: [IPAddress] = []
        var code = Code.success

        func addresses(_ family: IPAddress.Family) -> [IPAddress] {
            addresses.filter { $0.family == family }
        }

        /// The TTL for JSON: `fault` as a number, the largest number for other text, or ``ttl`` without a fault.
        func jsonTTL(_ fault: String?) -> UInt64 {
            fault.map { UInt64($0) ?? .max } ?? UInt64(ttl)
        }
    }
}
