// SPDX-License-Identifier: Apache-2.0

import DequeModule
public import Names

/// A host that requires TLS (RFC 6797).
public struct HSTSEntry: Hashable, Sendable {
    /// The name in the form of `Host`, without a trailing dot.
    public let host: String
    /// Whether the host's subdomains require TLS too.
    public var includesSubdomains: Bool
    /// When the requirement ends, in seconds since 1970. `Int64.max` means never.
    public var expiresAt: Int64

    /// Creates an entry; nil if the host is an IP address or not a valid DNS name. HSTS does not apply to addresses
    /// (§8.1.1).
    public init?(host: Host, includesSubdomains: Bool, expiresAt: Int64) {
        guard let name = host.dnsName else { return nil }
        self.host = name
        self.includesSubdomains = includesSubdomains
        self.expiresAt = expiresAt
    }
}

/// The rules of HSTS (RFC 6797) as a value type. ``HSTSStore`` guards it with a lock.
struct HSTSTable: Sendable {
    private struct KnownHost {
        var entry: HSTSEntry
        /// The order in which entries were recorded.
        var number: UInt64
    }

    /// The maximum number of entries. Beyond it, expired ones go first, then the one that was recorded first.
    let maxEntries: Int
    private var known: [String: KnownHost] = [:]
    private var lastNumber: UInt64 = 0
    /// The entries as they were recorded, so that the first one is found without a scan. Some were replaced or removed since.
    private var order = Deque<(host: String, number: UInt64)>()
    /// No entry expires before.
    private var firstExpiry = Int64.max

    init(maxEntries: Int) { self.maxEntries = max(0, maxEntries) }

    var isEmpty: Bool { known.isEmpty }

    /// The entries that have not expired, in the order in which they were recorded.
    func entries(now: Int64) -> [HSTSEntry] {
        known.values.filter { $0.entry.expiresAt > now }.sorted { $0.number < $1.number }.map(\.entry)
    }

    /// Whether a name requires TLS: by its own entry, or by one of a superdomain that includes subdomains (§8.2).
    func requiresTLS(_ name: String, now: Int64) -> Bool {
        guard !known.isEmpty else { return false }
        if let own = known[name], own.entry.expiresAt > now { return true }
        var rest = name[...]
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[rest.utf8.index(after: dot)...]
            guard let parent = known[String(rest)]?.entry else { continue }
            if parent.includesSubdomains, parent.expiresAt > now { return true }
        }
        return false
    }

    /// Records a response of a host (§8.1). A max-age of zero removes the host's own entry.
    mutating func record(_ policy: StrictTransportSecurity, of host: Host, now: Int64) {
        guard let name = host.dnsName else { return }
        guard policy.maxAge > 0 else {
            known[name] = nil
            return
        }
        let (sum, isTooLarge) = now.addingReportingOverflow(policy.maxAge)
        let entry = HSTSEntry(
            host: host,
            includesSubdomains: policy.includesSubdomains,
            expiresAt: isTooLarge ? .max : sum
        )
        if let entry { insert(entry, now: now) }
    }

    /// Adds an entry, in place of the host's earlier one. An expired one is not added.
    mutating func insert(_ entry: HSTSEntry, now: Int64) {
        guard entry.expiresAt > now else { return }
        lastNumber += 1
        known[entry.host] = KnownHost(entry: entry, number: lastNumber)
        order.append((entry.host, lastNumber))
        firstExpiry = min(firstExpiry, entry.expiresAt)
        if order.count > 2 * known.count + 16 {
            let present = known
            order.removeAll { present[$0.host]?.number != $0.number }
        }
        if known.count > maxEntries { evict(now: now) }
    }

    /// Removes the entry of a host. Entries of its superdomains stay.
    mutating func remove(_ name: String) { known[name] = nil }

    mutating func removeAll() { (known, order, firstExpiry) = ([:], [], .max) }

    private mutating func evict(now: Int64) {
        if firstExpiry <= now {
            known = known.filter { $0.value.entry.expiresAt > now }
            firstExpiry = known.values.map(\.entry.expiresAt).min() ?? .max
        }
        while known.count > maxEntries, let first = order.popFirst() {
            if known[first.host]?.number == first.number { known[first.host] = nil }
        }
    }
}
