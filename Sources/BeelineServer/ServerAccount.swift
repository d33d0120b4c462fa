// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Names

/// A client account and its credentials.
public struct ServerAccount: Sendable {
    /// The account's number or name.
    public let id: String
    /// How many questions the account may ask. Nil for no limit. Default: nil.
    public var quota: AccountQuota?
    let secret: String
    /// The decoded octets of a hexadecimal secret, which sign questions of Aliyun's version 2.
    let signingKey: [UInt8]?
    /// 16 octets, for Aliyun's modes 1 and 2.
    let encryptionKey: [UInt8]?

    /// Makes an account.
    ///
    /// - Parameters:
    ///   - id: The number or name that questions carry.
    ///   - secret: The key that signs questions. Aliyun's version 1 uses the text, version 2 uses the octets of its hexadecimal
    ///     form. It is also DNSPod's token, and its first 16 octets are DNSPod's AES key.
    ///   - encryptionKey: 16 octets in hexadecimal, for Aliyun's encrypted questions. Nil refuses those questions.
    /// - Throws: ``ServerError`` with code `badAccount`.
    public init(id: String, secret: String, encryptionKey: String? = nil) throws(ServerError) {
        guard !id.isEmpty, !secret.isEmpty else {
            throw ServerError(.badAccount, "an account needs an ID and a secret")
        }
        self.id = id
        self.secret = secret
        signingKey = Hex.decode(secret).flatMap { $0.isEmpty ? nil : $0 }
        self.encryptionKey = encryptionKey.flatMap { Hex.decode($0) }
        guard encryptionKey == nil || self.encryptionKey?.count == 16 else {
            throw ServerError(.badAccount, "the encryption key of account \(id) is not 32 hexadecimal digits")
        }
    }

    /// DNSPod's cipher with this account's secret as the key.
    var dnspodCipher: AESCipher? {
        let octets = Array(secret.utf8.prefix(16))
        return AESCipher(.cbc, key: octets + [UInt8](repeating: UInt8(ascii: "0"), count: 16 - octets.count))
    }
}

extension ServerAccount: CustomReflectable {
    /// The properties that `print` and `dump` show, without the secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "quota": quota as Any], displayStyle: .struct)
    }
}

struct Accounts: Sendable {
    private let byID: [String: ServerAccount]

    init(_ accounts: [ServerAccount]) {
        byID = Dictionary(accounts.map { ($0.id, $0) }, uniquingKeysWith: { _, last in last })
    }

    var isEmpty: Bool { byID.isEmpty }

    subscript(id: String) -> ServerAccount? { byID[id] }

    /// The account whose secret is a text. Compares with all secrets, so that the time reveals nothing.
    func account(withToken token: String) -> ServerAccount? {
        byID.values.reduce(nil) { ConstantTime.equal($1.secret, token) ? $1 : $0 }
    }
}
