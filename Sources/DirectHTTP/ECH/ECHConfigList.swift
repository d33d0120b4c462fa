// SPDX-License-Identifier: Apache-2.0

import HTTPWire

/// The Encrypted Client Hello configurations of a server (`ECHConfigList`, RFC 9849 §4). A configuration has a public
/// key, and the public name that observers see instead of the origin's.
///
/// A list is checked when it is created. It has at least one configuration that this library can use: version 0xfe0d,
/// X25519 and HKDF-SHA256, without unknown mandatory extensions, and with a public name that is a valid host name.
/// Other configurations are kept but not used.
public struct ECHConfigList: Hashable, Sendable, CustomStringConvertible {
    /// The list as in an HTTPS record (RFC 9848), including its length. At most 65,537 bytes.
    public let bytes: [UInt8]
    /// The public name of the first usable configuration, which is the one in use.
    public let publicName: String

    /// Checks a list.
    ///
    /// - Throws: ``DirectHTTPError`` with code `echFailed`, if the list is malformed or no configuration can be used.
    public init(_ bytes: some Sequence<UInt8>) throws(DirectHTTPError) {
        self.bytes = Array(bytes.prefix(Self.maxBytes + 1))
        var reader = ECHReader(self.bytes[...])
        var name: String?
        do throws(ECHReader.Malformed) {
            var configurations = ECHReader(try reader.vector16())
            guard reader.isAtEnd, !configurations.isAtEnd else { throw ECHReader.Malformed() }
            while !configurations.isAtEnd {
                let version = try configurations.uint16()
                let contents = try configurations.vector16()
                guard version == Self.version else { continue }
                let usable = try Self.usablePublicName(ECHReader(contents))
                name = name ?? usable
            }
        } catch {
            throw DirectHTTPError(.echFailed, "the ECHConfigList is malformed")
        }
        guard let name else {
            throw DirectHTTPError(.echFailed, "the ECHConfigList has no configuration that can be used")
        }
        publicName = name
    }

    /// The public name, for logs.
    public var description: String { "ECHConfigList(\(publicName))" }

    /// Whether a server's retry configurations show that it has turned ECH off (RFC 9849 §6.1.6). This is true if there
    /// are none, or none has a version that this library knows. False for malformed bytes.
    static func hasNoKnownVersion(_ bytes: [UInt8]) -> Bool {
        guard !bytes.isEmpty else { return true }
        do throws(ECHReader.Malformed) {
            var reader = ECHReader(bytes[...])
            var configurations = ECHReader(try reader.vector16())
            guard reader.isAtEnd, !configurations.isAtEnd else { return false }
            while !configurations.isAtEnd {
                if try configurations.uint16() == version { return false }
                _ = try configurations.vector16()
            }
            return true
        } catch {
            return false
        }
    }

    /// The version of RFC 9849.
    private static let version: UInt16 = 0xfe0d
    private static let maxBytes = 65_537
    /// DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256 (RFC 9180 §7), which BoringSSL has.
    private static let kem: UInt16 = 0x0020
    private static let kdf: UInt16 = 0x0001
    /// AES-128-GCM, AES-256-GCM and ChaCha20Poly1305 (RFC 9180 §7.3).
    private static let aeads: ClosedRange<UInt16> = 1...3

    /// The public name of a configuration's contents; nil if the configuration cannot be used. BoringSSL parses the
    /// same bytes, so this must not accept anything that BoringSSL rejects.
    private static func usablePublicName(_ contents: ECHReader) throws(ECHReader.Malformed) -> String? {
        var contents = contents
        _ = try contents.uint8()
        let kem = try contents.uint16()
        let key = try contents.vector16()
        let suites = try contents.vector16()
        _ = try contents.uint8()
        let name = try contents.vector8()
        var extensions = ECHReader(try contents.vector16())
        guard contents.isAtEnd, !key.isEmpty, !suites.isEmpty, suites.count % 4 == 0, !name.isEmpty else {
            throw ECHReader.Malformed()
        }
        guard isPublicName(name) else { return nil }
        var isUnderstood = true
        while !extensions.isAtEnd {
            // An extension whose highest bit is set is mandatory (§4.2). None is known.
            if try extensions.uint16() & 0x8000 != 0 { isUnderstood = false }
            _ = try extensions.vector16()
        }
        var reader = ECHReader(suites)
        var hasSuite = false
        while !reader.isAtEnd {
            let (kdf, aead) = (try reader.uint16(), try reader.uint16())
            if kdf == Self.kdf, aeads.contains(aead) { hasSuite = true }
        }
        guard kem == Self.kem, hasSuite, isUnderstood else { return nil }
        guard key.count == 32 else { throw ECHReader.Malformed() }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether a public name is a valid host name and not an IPv4 address (§4). The labels have letters, digits and
    /// hyphens, and the last label is not a number.
    private static func isPublicName(_ name: ArraySlice<UInt8>) -> Bool {
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let hyphen = UInt8(ascii: "-")
        for label in labels {
            guard (1...63).contains(label.count), label.first != hyphen, label.last != hyphen,
                label.allSatisfy({ HTTPCharacters.isLetterOrDigit($0) || $0 == hyphen })
            else { return false }
        }
        guard let last = labels.last else { return false }
        if last.allSatisfy(HTTPCharacters.isDigit) { return false }
        let text = String(decoding: last, as: UTF8.self).lowercased()
        return !(text.hasPrefix("0x") && text.dropFirst(2).allSatisfy(\.isHexDigit))
    }
}

/// Reads integers and vectors of TLS (RFC 8446 §3) from bytes.
private struct ECHReader {
    struct Malformed: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func uint8() throws(Malformed) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Malformed() }
        return byte
    }

    mutating func uint16() throws(Malformed) -> UInt16 {
        let high = try uint8()
        return UInt16(high) << 8 | UInt16(try uint8())
    }

    mutating func vector8() throws(Malformed) -> ArraySlice<UInt8> { try take(Int(try uint8())) }

    mutating func vector16() throws(Malformed) -> ArraySlice<UInt8> { try take(Int(try uint16())) }

    private mutating func take(_ count: Int) throws(Malformed) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw Malformed() }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
