// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
import Names

extension Proxy {
    /// Parses `[SCHEME://][user:password@]host[:port]` as curl's `-x` does; `nil` for anything else.
    ///
    /// The scheme is `http` (the default), `https` for HTTP over TLS, `socks5h` or `socks5`. Both SOCKS schemes send the host
    /// name to the proxy; the client does not resolve it. The default port is 443 for `https` and 1080 for the others.
    public init?(parsing text: String) {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts.count == 2 ? parts[0].lowercased() : "http"
        guard let kind = Self.kinds[scheme], let rest = parts.last, let url = try? HTTPURL("http://" + rest) else {
            return nil
        }
        let isSecure = scheme == "https"
        let port = Self.namesPort(rest) ? url.origin.port : isSecure ? 443 : 1080
        self.init(
            kind,
            origin: Origin(scheme: isSecure ? .https : .http, host: url.host, port: port),
            user: url.user,
            password: url.password
        )
    }

    private static let kinds: [String: Kind] = ["http": .http, "https": .http, "socks5": .socks5, "socks5h": .socks5]

    /// Whether the authority ends with a port. `HTTPURL` reports port 80 if there is none.
    private static func namesPort(_ rest: Substring) -> Bool {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.split(separator: "@").last ?? ""
        return host.last?.isNumber == true && host.split(separator: "]").last?.contains(":") == true
    }
}
