// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// AES-128 in the format of upstreams: the initialization vector precedes the ciphertext, and GCM's tag follows it.
package struct AESCipher: Sendable {
    /// The mode of operation.
    package enum Mode: Sendable {
        /// CBC with PKCS #7 padding. It does not detect changes to the ciphertext.
        case cbc
        /// GCM, which detects changes to the ciphertext.
        case gcm
    }

    private let mode: Mode
    private let key: SymmetricKey

    /// A cipher; nil unless the key has 16 octets.
    package init?(_ mode: Mode, key: [UInt8]) {
        guard key.count == 16 else { return nil }
        self.mode = mode
        self.key = SymmetricKey(data: key)
    }

    /// The size of the initialization vector, in octets.
    var vectorSize: Int { mode == .cbc ? 16 : 12 }

    /// Encrypts with a random vector, or with `vector` in tests.
    package func seal(_ text: [UInt8], vector: [UInt8]? = nil) throws -> [UInt8] {
        let vector = vector ?? (0..<vectorSize).map { _ in UInt8.random(in: .min ... .max) }
        switch mode {
        case .cbc:
            let sealed = try AES._CBC.encrypt(text, using: key, iv: AES._CBC.IV(ivBytes: vector))
            return vector + sealed
        case .gcm:
            let box = try AES.GCM.seal(text, using: key, nonce: AES.GCM.Nonce(data: vector))
            return vector + box.ciphertext + box.tag
        }
    }

    /// Decrypts; nil if the ciphertext is invalid, or for GCM was changed.
    package func open(_ sealed: [UInt8]) -> [UInt8]? {
        switch mode {
        case .cbc:
            guard let block = openBlocks(sealed) else { return nil }
            return block.isPadded ? block.text : nil
        case .gcm:
            guard sealed.count >= 28, let box = try? AES.GCM.SealedBox(combined: sealed),
                let text = try? AES.GCM.open(box, using: key)
            else { return nil }
            return Array(text)
        }
    }

    /// Decrypts CBC for a server. The timing must not reveal whether the padding is valid, so invalid padding takes the
    /// same time and also returns a text.
    ///
    /// - Returns: The text without its padding, or with it if it is invalid; nil unless there are whole blocks.
    package func openBlocks(_ sealed: [UInt8]) -> (text: [UInt8], isPadded: Bool)? {
        guard mode == .cbc, sealed.count >= 32, sealed.count % 16 == 0,
            let vector = try? AES._CBC.IV(ivBytes: sealed[..<16]),
            let text = try? AES._CBC.decrypt(sealed[16...], using: key, iv: vector, noPadding: true),
            let padding = text.last
        else { return nil }
        // Examine the whole last block regardless of its content (RFC 5652 §6.3).
        var wrong: UInt8 = padding &- 1 > 15 ? 1 : 0
        for (place, octet) in text.suffix(16).reversed().enumerated() {
            let isPadding: UInt8 = UInt8(place) < padding ? 0xff : 0
            wrong |= (octet ^ padding) & isPadding
        }
        return (Array(text.dropLast(wrong == 0 ? Int(padding) : 0)), wrong == 0)
    }
}
