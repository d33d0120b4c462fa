// SPDX-License-Identifier: Apache-2.0

/// The host of a URL, canonical: a domain in lower-case A-labels (RFC 5890) or an IP address.
public struct Host: Hashable, Sendable, CustomStringConvertible {
    /// `www.example.com`, `xn--bcher-kva.example`, `192.0.2.1` or `2001:db8::1` (no brackets).
    public let text: String
    /// The address, where the host is one; nil for a domain.
    public let address: IPAddress?

    /// Reads the host of a URL: a domain (IDNA hosts become A-labels), an IPv4 address in any form that browsers read
    /// (WHATWG URL §3.5), an IPv6 address with or without brackets.
    ///
    /// - Throws: ``NameError`` with code `malformedHost`.
    public init(_ text: some StringProtocol) throws(NameError) {
        (self.text, self.address) = try Host.parse(String(text))
    }

    /// The host that is an address.
    public init(_ address: IPAddress) {
        self.text = address.description
        self.address = address
    }

    /// The host as a URL writes it: an IPv6 address in brackets.
    public var urlForm: String { address?.family == .v6 ? "[\(text)]" : text }

    /// Whether the name is `localhost` or below it (RFC 6761 §6.3).
    public var isLocalhost: Bool {
        text == "localhost" || text.hasSuffix(".localhost")
    }

    public var description: String { urlForm }
}
