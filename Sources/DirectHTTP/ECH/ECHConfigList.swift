// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

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
        var name: String?
        do throws(Malformed) {
            for configuration in try Self.configurations(self.bytes) where configuration.version == Self.version {
                let usable = try Self.usablePublicName(configuration.contents)
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
        guard let configurations = try? Self.configurations(bytes) else { return false }
        return !configurations.contains { $0.version == version }
    }

    private struct Malformed: Error {}

    /// The version of RFC 9849.
    private static let version: UInt16 = 0xfe0d
    private static let maxBytes = 65_537
    /// DHKEM(X25519, HKDF-SHA256) and HKDF-SHA256 (RFC 9180 §7), which BoringSSL has.
    private static let kem: UInt16 = 0x0020
    private static let kdf: UInt16 = 0x0001
    /// AES-128-GCM, AES-256-GCM and ChaCha20Poly1305 (RFC 9180 §7.3).
    private static let aeads: ClosedRange<UInt16> = 1...3

    /// The configurations of a list, which has at least one.
    private static func configurations(
        _ bytes: [UInt8]
    ) throws(Malformed) -> [(version: UInt16, contents: ByteBuffer)] {
        var list = ByteBuffer(bytes: bytes)
        guard var rest = list.readLengthPrefixedSlice(as: UInt16.self), list.readableBytes == 0, rest.readableBytes > 0
        else { throw Malformed() }
        var configurations: [(version: UInt16, contents: ByteBuffer)] = []
        while rest.readableBytes > 0 {
            guard let version = rest.readInteger(as: UInt16.self),
                let contents = rest.readLengthPrefixedSlice(as: UInt16.self)
            else { throw Malformed() }
            configurations.append((version, contents))
        }
        return configurations
    }

    /// The public name of a configuration's contents; nil if the configuration cannot be used. BoringSSL parses the
    /// same bytes, so this must not accept anything that BoringSSL rejects.
    private static func usablePublicName(_ contents: ByteBuffer) throws(Malformed) -> String? {
        var contents = contents
        guard contents.readInteger(as: UInt8.self) != nil, let kem = contents.readInteger(as: UInt16.self),
            let key = contents.readLengthPrefixedSlice(as: UInt16.self), key.readableBytes > 0,
            var suites = contents.readLengthPrefixedSlice(as: UInt16.self), suites.readableBytes > 0,
            suites.readableBytes % 4 == 0, contents.readInteger(as: UInt8.self) != nil,
            let name = contents.readLengthPrefixedSlice(as: UInt8.self), name.readableBytes > 0,
            var extensions = contents.readLengthPrefixedSlice(as: UInt16.self), contents.readableBytes == 0
        else { throw Malformed() }
        guard isPublicName(name.readableBytesView) else { return nil }
        var isUnderstood = true
        while extensions.readableBytes > 0 {
            guard let type = extensions.readInteger(as: UInt16.self),
                extensions.readLengthPrefixedSlice(as: UInt16.self) != nil
            else { throw Malformed() }
            // An extension whose highest bit is set is mandatory (§4.2). None is known.
            if type & 0x8000 != 0 { isUnderstood = false }
        }
        var hasSuite = false
        while let (kdf, aead) = suites.readMultipleIntegers(as: (UInt16, UInt16).self) {
            if kdf == Self.kdf, aeads.contains(aead) { hasSuite = true }
        }
        guard kem == Self.kem, hasSuite, isUnderstood else { return nil }
        guard key.readableBytes == 32 else { throw Malformed() }
        return String(buffer: name)
    }

    /// Whether a public name is a valid host name and not an IPv4 address (§4). The labels have letters, digits and
    /// hyphens, and the last label is not a number.
    private static func isPublicName(_ name: ByteBufferView) -> Bool {
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
