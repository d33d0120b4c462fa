// SPDX-License-Identifier: Apache-2.0

import Names

/// The parts of a URL that the rules of RFC 6265bis use.
struct CookieRequest {
    /// The canonical host. An IPv6 address has brackets, as in a Domain attribute.
    let host: String
    /// Whether the host is an IP address, which has no parent domains.
    let isAddress: Bool
    /// Whether the connection counts as secure (§5.8.3): it uses TLS or goes to this machine.
    let isSecure: Bool

    init(_ url: HTTPURL) {
        host = url.origin.host.urlForm
        isAddress = url.origin.host.address != nil
        isSecure = url.origin.scheme.isSecure || Self.isThisMachine(host, isAddress: isAddress)
    }

    /// Whether a host is potentially trustworthy (W3C Secure Contexts §3.1): 127.0.0.0/8, ::1, localhost and the names below it
    /// (RFC 6761 §6.3).
    private static func isThisMachine(_ host: String, isAddress: Bool) -> Bool {
        isAddress
            ? host.hasPrefix("127.") || host == "[::1]"
            : DomainMatch.matches(host, isAddress: false, domain: "localhost")
    }

    /// Calls `body` with the domains whose cookies may match the host: the host itself, then its parent domains, except the last
    /// label, which is a public suffix.
    func forEachDomain(_ body: (String) -> Void) {
        guard !isAddress else { return body(host) }
        DomainMatch.forEachDomain(of: host) { if $0.utf8.contains(.dot) || $0 == host { body($0) } }
    }
}
