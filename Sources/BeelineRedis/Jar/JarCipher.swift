// SPDX-License-Identifier: Apache-2.0

#if Redis
import Crypto
import Names

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encrypts the records of a jar by AES-256-GCM, and hides names by HMAC-SHA-256. Both keys are derived from the jar's
/// key by HKDF (RFC 5869).
struct JarCipher: Sendable {
    private let records: SymmetricKey
    private let names: SymmetricKey

    init(_ key: RedisJarEncryptionKey) {
        let key = SymmetricKey(data: key.octets)
        func derived(_ use: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Array("beeline jar \(use)".utf8), outputByteCount: 32)
        }
        (records, names) = (derived("records"), derived("names"))
    }

    /// A name that does not reveal the octets: 64 hexadecimal digits.
    func digest(_ octets: [UInt8]) -> [UInt8] {
        Array(Hex.encode(HMAC<SHA256>.authenticationCode(for: octets, using: names)).utf8)
    }

    /// Encrypts a row under a new random nonce. Nil only if the library fails.
    func seal(_ row: [UInt8], boundTo bond: [UInt8]) -> [UInt8]? {
        let box = try? AES.GCM.seal(row, using: records, authenticating: bond)
        return box?.combined.map { Array($0) }
    }

    /// Decrypts a row. Nil if key, bond or row differ.
    func open(_ payload: ArraySlice<UInt8>, boundTo bond: [UInt8]) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: Data(payload)),
            let row = try? AES.GCM.open(box, using: records, authenticating: bond)
        else { return nil }
        return Array(row)
    }
}
#endif
