// SPDX-License-Identifier: Apache-2.0

/// The canonical host of a URL: a domain in lower-case A-labels (RFC 5890) or an IP address.
///
///     try Host("Bücher.example").text        // xn--bcher-kva.example
///     try Host("0x7f.1").address             // 127.0.0.1, as browsers read it
///     try Host("www.example.com.") == Host("www.example.com")  // false: cookies and URLs tell them apart
public struct Host: Hashable, Sendable, CustomStringConvertible {
    /// The longest text that is parsed as a host, in octets. A percent-encoded domain of ``maxLength`` fits.
    package static let maxInputLength = 4096
    /// The longest domain, in octets. URLs have no limit, and a proxy may know names that DNS does not.
    static let maxLength = 1024
    /// The longest name in DNS without a trailing dot, in octets: the 255 of RFC 1035 §2.3.4 minus two octets that only the
    /// wire format has.
    static let maxDNSLength = 253
    /// The longest label in DNS, in octets (RFC 1035 §2.3.4).
    static let maxLabelLength = 63

    /// `www.example.com`, `xn--bcher-kva.example`, `192.0.2.1` or `2001:db8::1` (no brackets).
    public let text: String
    /// The address if the host is one; nil for a domain.
    public var address: IPAddress? { literal?.address }
    /// The interface name or number of a link-local IPv6 address: `eth0` in `[fe80::1%25eth0]` (RFC 6874); nil if there is
    /// none. The zone is meaningful on this machine only. It is part of the host's identity but is not sent in headers, cookies
    /// or proxy requests.
    public var zone: String? { literal?.zone }
    private let literal: Literal?

    /// The parts that only an address has. They are in a separate object because most hosts are domains, and hosts are copied
    /// often.
    private final class Literal: Sendable {
        let address: IPAddress
        let zone: String?

        init(_ address: IPAddress, zone: String?) {
            self.address = address
            self.zone = zone
        }
    }

    /// Reads the host of a URL (WHATWG URL §3.5): a domain (UTS #46 converts other scripts to A-labels), an IPv4 address in any
    /// form that browsers read, or an IPv6 address with or without brackets. Percent-encoded octets are decoded. The A-labels of
    /// a domain in ASCII are not checked, as in browsers and curl.
    ///
    /// A domain has at most 1,024 octets. Names that DNS does not have are accepted, as in browsers and curl: with empty labels
    /// (`a..b`), with a label of more than 63 octets, and with more than 253 octets in all. No upstream is asked for them, but a
    /// proxy may know them. A label of another script has at most 63 octets as an A-label.
    ///
    /// Only a link-local IPv6 address may have a ``zone`` (`[fe80::1%25eth0]`, or `%eth0` as in curl). That of `::1` is ignored.
    ///
    /// - Throws: ``NameError`` with code `malformedHost`.
    public init(_ text: String) throws(NameError) {
        var text = text
        let parts = text.withOctets { bytes in
            Result { () throws(NameError) in try Host.parse(bytes) }
        }
        self.init(try parts.get())
    }

    /// Reads a host from a substring or another string type.
    ///
    /// - Throws: ``NameError`` with code `malformedHost`.
    public init(_ text: some StringProtocol) throws(NameError) {
        try self.init(String(text))
    }

    /// Creates a host from an IP address.
    public init(_ address: IPAddress) {
        self.init((address.description, address, nil))
    }

    init(bytes: Octets) throws(NameError) {
        self.init(try Host.parse(bytes.rebased))
    }

    private init(_ parts: Parts) {
        text = parts.text
        literal = parts.address.map { Literal($0, zone: parts.zone) }
    }

    /// The host as a URL and the Host header contain it: an IPv6 address is in brackets, without its ``zone``.
    package var urlForm: String { address?.family == .v6 ? "[\(text)]" : text }

    /// Whether the domain ends with a dot, `www.example.com.`.
    ///
    /// DNS treats both forms as the same name. URLs, the Host header and cookies treat them as different, as browsers and curl
    /// do.
    package var hasTrailingDot: Bool { text.utf8.last == UInt8(ascii: ".") }

    /// The domain without its trailing dot, to compare it with superdomains; nil for an address.
    package var domain: String? {
        guard address == nil else { return nil }
        return hasTrailingDot ? String(text.dropLast()) : text
    }

    /// The name for DNS queries, entries of HSTS and TLS server names (RFC 6066 §3): the ``domain``. Nil for an address and for
    /// a domain that DNS cannot encode (RFC 1035 §2.3.4): one with more than 253 octets, or with a label that is empty or has
    /// more than 63.
    package var dnsName: String? {
        guard let name = domain, name.utf8.count <= Self.maxDNSLength else { return nil }
        var label = 0
        for byte in name.utf8 {
            if byte == UInt8(ascii: "."), label == 0 { return nil }
            label = byte == UInt8(ascii: ".") ? 0 : label + 1
            if label > Self.maxLabelLength { return nil }
        }
        return label > 0 ? name : nil
    }

    /// Whether the name is `localhost` or a subdomain of it (RFC 6761 §6.3), with or without a trailing dot.
    package var isLocalhost: Bool {
        var text = text
        return text.withOctets { octets in
            let name = octets.last == UInt8(ascii: ".") ? octets.dropLast() : octets[...]
            guard name.suffix(9).elementsEqual("localhost".utf8) else { return false }
            return name.count == 9 || name.dropLast(9).last == UInt8(ascii: ".")
        }
    }

    /// The addresses that need no lookup: the address itself, or those of `localhost`; nil for other names.
    package var literalAddresses: [IPAddress]? {
        if let address { return [address] }
        return isLocalhost ? [IPAddress(v4: 0x7f00_0001), IPAddress(v6: 0, 1)] : nil
    }

    /// The host as a URL contains it, with the ``zone`` if there is one.
    public var description: String { zone.map { "[\(text)%25\($0)]" } ?? urlForm }

    /// Compares text and zone. The text determines the address.
    public static func == (one: Host, other: Host) -> Bool { one.text == other.text && one.zone == other.zone }

    /// Hashes the text only; hosts that differ only in their zone collide.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
