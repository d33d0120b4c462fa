// SPDX-License-Identifier: Apache-2.0

/// The host of a URL, canonical: a domain in lower-case A-labels (RFC 5890) or an IP address.
///
///     try Host("Bücher.example").text        // xn--bcher-kva.example
///     try Host("0x7f.1").address             // 127.0.0.1, as browsers read it
///     try Host("www.example.com.") == Host("www.example.com")  // false: see ``hasTrailingDot``
public struct Host: Hashable, Sendable, CustomStringConvertible {
    /// How many octets a text may have before it is read as a host: every domain of 253 octets fits, percent-encoded.
    public static let maximumInputLength = 4096
    /// The octets of a domain without the dot that may trail it: the 255 of RFC 1035 §2.3.4 less what only the wire has.
    static let maximumLength = 253
    /// RFC 1035 §2.3.4.
    static let maximumLabelLength = 63

    /// `www.example.com`, `xn--bcher-kva.example`, `192.0.2.1` or `2001:db8::1` (no brackets).
    public let text: String
    /// The address, where the host is one; nil for a domain.
    public var address: IPAddress? { literal?.address }
    /// The interface behind which a link-local IPv6 address is meant, by its name or number: `eth0` of `[fe80::1%25eth0]`
    /// (RFC 6874); nil where none is named. It says something to this machine only: it tells two hosts apart here, and no
    /// header, cookie or proxy hears of it.
    public var zone: String? { literal?.zone }
    private let literal: Literal?

    /// What an address has and a domain has not. It lies apart: most hosts are domains, and each is copied many times.
    private final class Literal: Sendable {
        let address: IPAddress
        let zone: String?

        init(_ address: IPAddress, zone: String?) {
            self.address = address
            self.zone = zone
        }
    }

    /// Reads the host of a URL (WHATWG URL §3.5): a domain (other scripts become A-labels by UTS #46), an IPv4 address
    /// in any form that browsers read, an IPv6 address with or without brackets. Percent-encoded octets are decoded.
    ///
    /// A label of a domain has at most 63 octets, a domain 253 and a dot that may trail it. Empty labels (`a..b`) are let
    /// through as by browsers and curl, since cookies are filed under such names; ``dnsName`` is nil for them. A link-local IPv6
    /// address may name a ``zone`` (`[fe80::1%25eth0]`, and `%eth0` as by curl); others may not.
    ///
    /// - Throws: ``NameError`` with code `malformedHost`.
    public init(_ text: String) throws(NameError) {
        var text = text
        let parts = text.withOctets { bytes in
            Result { () throws(NameError) in try Host.parse(bytes) }
        }
        self.init(try parts.get())
    }

    /// The same for parts of a string.
    ///
    /// - Throws: ``NameError`` with code `malformedHost`.
    public init(_ text: some StringProtocol) throws(NameError) {
        try self.init(String(text))
    }

    /// The host that is an address.
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

    /// The host as a URL and the Host header write it: an IPv6 address in brackets, without its ``zone``.
    public var urlForm: String { address?.family == .v6 ? "[\(text)]" : text }

    /// Whether the domain is written as fully qualified, `www.example.com.`.
    ///
    /// To DNS it is the same name; to URLs, the Host header and cookies it is another one, as in browsers and curl.
    public var hasTrailingDot: Bool { text.utf8.last == UInt8(ascii: ".") }

    /// What DNS is asked for, and what TLS server names and certificates carry (RFC 6066 §3): the domain without the dot
    /// that may trail it. Nil for an address, and for a domain with an empty label, which DNS cannot carry.
    public var dnsName: String? {
        guard address == nil else { return nil }
        let name = hasTrailingDot ? text.dropLast() : text[...]
        var label = 0
        for byte in name.utf8 {
            if byte == UInt8(ascii: "."), label == 0 { return nil }
            label = byte == UInt8(ascii: ".") ? 0 : label + 1
        }
        return label > 0 ? String(name) : nil
    }

    /// Whether the name is `localhost` or below it (RFC 6761 §6.3), with or without a trailing dot.
    public var isLocalhost: Bool {
        var text = text
        return text.withOctets { octets in
            let name = octets.last == UInt8(ascii: ".") ? octets.dropLast() : octets[...]
            guard name.suffix(9).elementsEqual("localhost".utf8) else { return false }
            return name.count == 9 || name.dropLast(9).last == UInt8(ascii: ".")
        }
    }

    /// ``urlForm``, with the ``zone`` where there is one.
    public var description: String { zone.map { "[\(text)%25\($0)]" } ?? urlForm }

    /// The text says which address it is, if any, and only the zone is no part of it.
    public static func == (one: Host, other: Host) -> Bool { one.text == other.text && one.zone == other.zone }

    /// See ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
