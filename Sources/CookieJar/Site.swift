// SPDX-License-Identifier: Apache-2.0

public import Names

/// A site: a scheme and a registrable domain (RFC 6265bis §5.2, "schemeful same-site"). `Partitioned` cookies are separated by
/// the site of the top-level page.
public struct Site: Hashable, Sendable, CustomStringConvertible {
    /// Whether the scheme uses TLS.
    public let isSecure: Bool
    /// The registrable domain. The whole host if it has none.
    public let domain: String

    /// The site of a URL.
    public init(of url: HTTPURL) {
        self.init(isSecure: url.origin.scheme.isSecure, host: url.host)
    }

    package init(isSecure: Bool, host: Host) {
        self.isSecure = isSecure
        self.domain = PublicSuffixList.registrableDomain(of: host) ?? host.urlForm
    }

    /// Reads the format of `description`. Nil for other text.
    package init?(_ text: some StringProtocol) {
        guard let mark = text.firstRange(of: "://"), let scheme = Scheme(text[..<mark.lowerBound]),
            let host = try? Host(text[mark.upperBound...])
        else { return nil }
        self.init(isSecure: scheme.isSecure, host: host)
    }

    /// The serialized site, such as `https://example.com`.
    public var description: String { (isSecure ? "https://" : "http://") + domain }
}
