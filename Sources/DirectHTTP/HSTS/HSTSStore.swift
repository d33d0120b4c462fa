// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOConcurrencyHelpers
public import Names

/// The hosts that require TLS (HTTP Strict Transport Security, RFC 6797). A client sends no request to them without TLS.
///
/// ```swift
/// let hosts = HSTSStore()
/// hosts.add(HSTSFile.read(text).entries)
/// let client = try BeelineClient(hsts: hosts)
/// …
/// let saved = HSTSFile.write(hosts.entries)
/// ```
///
/// Several clients can share one store.
public final class HSTSStore: Sendable {
    /// Guards the entries.
    private let table: NIOLockedValueBox<HSTSTable>
    private let now: @Sendable () -> Int64

    /// Creates an empty store.
    ///
    /// - Parameter maxEntries: The maximum number of hosts. If there are more, the one that was recorded first is forgotten.
    ///   Default: 10,000.
    public convenience init(maxEntries: Int = 10_000) {
        self.init(maxEntries: maxEntries, now: { Int64(time(nil)) })
    }

    /// - Parameter now: Returns the current time in seconds since 1970.
    package init(maxEntries: Int = 10_000, now: @escaping @Sendable () -> Int64) {
        table = NIOLockedValueBox(HSTSTable(maxEntries: maxEntries))
        self.now = now
    }

    /// The entries that have not expired, in the order in which their hosts were first recorded.
    public var entries: [HSTSEntry] {
        let now = now()
        return table.withLockedValue { $0.entries(now: now) }
    }

    /// Adds entries, in place of earlier ones of the same hosts. Expired ones are not added.
    public func add(_ entries: [HSTSEntry]) {
        let now = now()
        table.withLockedValue { table in
            for entry in entries { table.insert(entry, now: now) }
        }
    }

    /// Removes the entry of a host. Entries of its superdomains stay.
    public func remove(_ host: Host) {
        guard let name = host.dnsName else { return }
        table.withLockedValue { $0.remove(name) }
    }

    /// Removes all entries.
    public func removeAll() { table.withLockedValue { $0.removeAll() } }

    /// Whether a host requires TLS, by its own entry or by that of a superdomain. False for an IP address.
    public func requiresTLS(_ host: Host) -> Bool {
        guard !table.withLockedValue({ $0.isEmpty }), let name = host.domain else { return false }
        let now = now()
        return table.withLockedValue { $0.requiresTLS(name, now: now) }
    }

    /// The URL with TLS if its host requires it and the URL has none (§8.3); nil otherwise.
    package func upgraded(_ url: HTTPURL) -> HTTPURL? {
        guard !url.origin.scheme.isSecure, requiresTLS(url.host) else { return nil }
        return url.withTLS
    }

    /// Records the first `Strict-Transport-Security` field of a response (§8.1). Call it only for a response over TLS
    /// whose certificate was verified. A malformed field, or the field of an IP address, is ignored.
    package func record(_ fieldValue: String, of host: Host) {
        guard let policy = StrictTransportSecurity(fieldValue: fieldValue) else { return }
        let now = now()
        table.withLockedValue { $0.record(policy, of: host, now: now) }
    }
}
