// SPDX-License-Identifier: Apache-2.0

/// Domains of cookies (RFC 6265bis §5.1.3). Both sides are canonical and in lower case.
enum DomainMatch {
    /// Whether `host` is `domain`, or a name below it. An address is only ever itself.
    static func matches(_ host: Octets, isAddress: Bool, domain: Octets) -> Bool {
        if host.count == domain.count { return host.isSame(as: domain) }
        guard !isAddress, host.count > domain.count, host[host.count - domain.count - 1] == .dot else { return false }
        return host.part((host.count - domain.count)..<host.count).isSame(as: domain)
    }
}
