// SPDX-License-Identifier: Apache-2.0

import Names

/// The parts of a URL that the rules of RFC 6265bis look at, for the time of a call.
struct CookieRequest {
    /// The canonical host; an IPv6 address in brackets, as a Domain attribute would write it.
    let host: Octets
    /// Whether the host is an address: then no other host is within it.
    let isAddress: Bool
    /// The path, without the query.
    let path: Octets
    /// Whether the connection counts as secure (§5.8.3): TLS, or a host that is this machine.
    var isSecure: Bool

    /// Calls `body` with the parts of `url`.
    @inline(__always)
    static func with<Result>(_ url: HTTPURL, _ body: (CookieRequest) throws -> Result) rethrows -> Result {
        // An IPv6 address stands in brackets in a Domain attribute; all other hosts are written as they are.
        if url.origin.host.address?.family == .v6 { return try with(url, url.origin.host.urlForm, body) }
        return try with(url, url.origin.host.text, body)
    }

    @inline(__always)
    private static func with<Result>(
        _ url: HTTPURL,
        _ host: String,
        _ body: (CookieRequest) throws -> Result
    ) rethrows -> Result {
        let isAddress = url.origin.host.address != nil
        return try host.withOctets { host in
            try url.target.withOctets { target in
                let path = target.part(0..<url.pathCount)
                let isSecure = url.origin.scheme.isSecure || isThisMachine(host, isAddress: isAddress)
                return try body(CookieRequest(host: host, isAddress: isAddress, path: path, isSecure: isSecure))
            }
        }
    }

    /// Whether a host is a potentially trustworthy one (W3C Secure Contexts §3.1): 127.0.0.0/8, ::1, localhost and what
    /// is below it (RFC 6761 §6.3).
    static func isThisMachine(_ host: Octets, isAddress: Bool) -> Bool {
        if isAddress { return host.startsCaseInsensitively(with: "127.") || host.isCaseInsensitively("[::1]") }
        let name: StaticString = "localhost"
        guard host.count >= name.utf8CodeUnitCount else { return false }
        let last = host.part((host.count - name.utf8CodeUnitCount)..<host.count)
        return last.isCaseInsensitively(name)
            && (host.count == last.count || host[host.count - last.count - 1] == .dot)
    }
}
