// SPDX-License-Identifier: Apache-2.0

import Crypto
import Names

/// The digests for upstreams' signatures and for the cookies of Chromium. Some upstreams require MD5; nothing else in the
/// library relies on it.
package enum Digests {
    /// MD5 (RFC 1321), in lower-case hexadecimal.
    package static func md5(_ text: String) -> String {
        Hex.encode(Insecure.MD5.hash(data: Array(text.utf8)))
    }

    /// SHA-256 (FIPS 180-4).
    package static func sha256(_ octets: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: octets)) }

    /// The signature of Aliyun and Baidu: the MD5 of a text, a secret and a time in seconds, joined by `-`.
    package static func signature(_ text: String, secret: String, time: Int64) -> String {
        md5("\(text)-\(secret)-\(time)")
    }

    /// HMAC-SHA256 (RFC 2104), in lower-case hexadecimal.
    package static func hmacSHA256(_ text: String, key: [UInt8]) -> String {
        Hex.encode(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }
}
