// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

/// The names that an ``UpstreamServer`` knows; it can be changed while servers answer from it.
///
/// ```swift
/// let zone = Zone()
/// try zone.set("www.a.test", to: ["127.0.0.1", "127.0.0.2", "::1"], ttl: 60)
/// zone.set("alias.test", .alias(of: "www.a.test", ttl: 30))
/// zone.set("broken.test", .failure)
/// zone.set("www.a.test", fault: .wrongID)
/// ```
///
/// Names are compared without regard to case and to a dot at the end. A name that is not in the zone does not exist
/// (NXDOMAIN).
public final class Zone: Sendable {
    /// What is known of a name.
    public struct Entry: Hashable, Sendable {
        enum Kind: Hashable {
            case addresses([IPAddress])
            case alias(String)
            case noSuchName
            case failure
        }

        let kind: Kind
        let ttl: UInt32

        /// Addresses of both families, in this order.
        public static func addresses(_ addresses: [IPAddress], ttl: UInt32 = 60) -> Entry {
            Entry(kind: .addresses(addresses), ttl: ttl)
        }

        /// Another name (CNAME), whose entry is followed in the same answer.
        public static func alias(of name: String, ttl: UInt32 = 60) -> Entry {
            Entry(kind: .alias(Zone.key(name)), ttl: ttl)
        }

        /// The name exists and has no address (NOERROR without records).
        public static let noAddress = Entry(kind: .addresses([]), ttl: 60)

        /// There is no such name (NXDOMAIN). DNS messages say that this holds for 30 seconds.
        public static let noSuchName = Entry(kind: .noSuchName, ttl: 30)

        /// The service cannot say (SERVFAIL; a status 500 in the forms that have no code for it).
        public static let failure = Entry(kind: .failure, ttl: 0)
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var faults: [String: UpstreamFault] = [:]
    }

    private let state = NIOLockedValueBox(State())

    /// A zone without names.
    public init() {}

    /// Sets a name's addresses.
    ///
    /// - Throws: ``TestingError`` with code `badAddress` for a text that is no address.
    public func set(_ name: String, to addresses: [String], ttl: UInt32 = 60) throws {
        let addresses = try addresses.map { text in
            guard let address = IPAddress(text) else {
                throw TestingError(.badAddress, "\"\(text)\" is not an IP address")
            }
            return address
        }
        set(name, .addresses(addresses, ttl: ttl))
    }

    /// Sets what is known of a name; nil: nothing any more.
    public func set(_ name: String, _ entry: Entry?) {
        state.withLockedValue { $0.entries[Self.key(name)] = entry }
    }

    /// Sets how every question for a name is answered wrongly; nil: rightly again. The name needs no entry.
    public func set(_ name: String, fault: UpstreamFault?) {
        state.withLockedValue { $0.faults[Self.key(name)] = fault }
    }

    func fault(of name: String) -> UpstreamFault? {
        state.withLockedValue { $0.faults[Self.key(name)] }
    }

    /// Follows aliases, at most 16.
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

    /// What a zone says of a name.
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

        /// The name that was asked for.
        let name: String
        /// The smallest on the way.
        var ttl: UInt32
        var aliases: [Alias] = []
        /// The name at the end of the aliases, to which the addresses belong.
        var owner = ""
        var addresses: [IPAddress] = []
        var code = Code.success

        func addresses(_ family: IPAddress.Family) -> [IPAddress] {
            addresses.filter { $0.family == family }
        }
    }
}
