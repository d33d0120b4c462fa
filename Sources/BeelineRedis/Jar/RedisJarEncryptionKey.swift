// SPDX-License-Identifier: Apache-2.0

#if Redis
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The key that encrypts the cookies of a shared jar on the server: 32 octets.
public struct RedisJarEncryptionKey: Sendable {
    let octets: [UInt8]

    /// Makes a key from 32 octets. Nil for another number of octets.
    public init?(_ octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    /// Reads a key from a file: 32 octets, or their hexadecimal or Base64 text. `openssl rand -hex 32` writes such a
    /// text.
    ///
    /// - Throws: ``RedisError`` with code `badKey` if the file cannot be read, is open to all users, or has no key.
    public init(file path: String) throws(RedisError) {
        let octets = try SecretFile.read(path, "key", code: .badKey)
        guard let key = Self.parse(octets).flatMap(RedisJarEncryptionKey.init) else {
            throw RedisError(
                .badKey,
                "the key file \(path) has no key; it needs 32 octets, as from: openssl rand -hex 32"
            )
        }
        self = key
    }

    private static func parse(_ octets: [UInt8]) -> [UInt8]? {
        if octets.count == 32 { return octets }
        let text = String(decoding: octets, as: UTF8.self).filter { !$0.isWhitespace }
        if text.utf8.count == 64 { return Hex.decode(text) }
        return Data(base64Encoded: text).map { Array($0) }
    }
}

extension RedisJarEncryptionKey: CustomReflectable {
    /// Hides the key from `print` and `dump`.
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
#endif
