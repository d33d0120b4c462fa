// SPDX-License-Identifier: Apache-2.0

public import Names

/// A site: a scheme and the registrable domain (RFC 6265bis §5.2, "schemeful same-site"). Cookies that are
/// `Partitioned` are kept apart by the site of the page.
public struct Site: Hashable, Sendable, CustomStringConvertible {
    /// Whether the scheme is one of TLS.
    public let isSecure: Bool
    /// The registrable domain; the whole host where there is none.
    public let domain: String

    /// The site that a URL belongs to.
    public init(of url: HTTPURL) {
        self.init(isSecure: url.origin.scheme.isSecure, host: url.host)
    }

    /// The site that a host belongs to.
    public init(isSecure: Bool, host: Host) {
        self.isSecure = isSecure
        self.domain = PublicSuffixList.registrableDomain(of: host) ?? host.urlForm
    }

    /// Reads what `description` writes; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let mark = text.firstRange(of: "://"), let scheme = Scheme(text[..<mark.lowerBound]),
            let host = try? Host(text[mark.upperBound...])
        else { return nil }
        self.init(isSecure: scheme.isSecure, host: host)
    }

    /// `https://example.com`, as a serialised site is written.
    public var description: String { (isSecure ? "https://" : "http://") + domain }
}
