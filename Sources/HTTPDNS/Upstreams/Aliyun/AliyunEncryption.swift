// SPDX-License-Identifier: Apache-2.0

/// The encryption of questions and answers, in addition to TLS.
public enum AliyunEncryption: Hashable, Sendable {
    /// AES-128 in CBC mode, with a key of 16 octets.
    case cbc(key: [UInt8])
    /// AES-128 in GCM mode, with a key of 16 octets. Detects modified answers.
    case gcm(key: [UInt8])
}
