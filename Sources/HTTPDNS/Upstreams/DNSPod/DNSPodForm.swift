// SPDX-License-Identifier: Apache-2.0

package import Names

/// The protocol variants of DNSPod. The oldest, which encrypts with DES, is not supported because DES is broken.
public struct DNSPodForm: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case plain
        case aes(id: String, key: [UInt8])
        case token(String)
    }

    let kind: Kind

    /// Over HTTP, unencrypted and without an account. An attacker on the path can read and change answers.
    public static let plain = DNSPodForm(kind: .plain)

    /// Over HTTP. The name and the answer are encrypted with AES-128.
    ///
    /// - Parameters:
    ///   - id: The number of the account.
    ///   - key: The account's key. Its first 16 octets are used; a shorter key is padded with `0`.
    public static func aes(id: String, key: String) -> DNSPodForm {
        let octets = Array(key.utf8.prefix(16))
        return DNSPodForm(
            kind: .aes(id: id, key: octets + [UInt8](repeating: UInt8(ascii: "0"), count: 16 - octets.count))
        )
    }

    /// Over HTTPS, with the account's token.
    public static func token(_ token: String) -> DNSPodForm { DNSPodForm(kind: .token(token)) }

    /// The service's public endpoint for this form.
    package var publicEndpoint: Endpoint {
        switch kind {
        case .plain: DNSPodUpstream.publicEndpoint
        case .aes: Endpoint(IPAddress(v4: 0x771d_1d62), port: 80)
        case .token: Endpoint(IPAddress(v4: 0x771d_1d63), port: 443)
        }
    }

    var scheme: Scheme {
        if case .token = kind { .https } else { .http }
    }

    /// The cipher for requests and replies; nil unless the form is encrypted.
    var cipher: AESCipher? {
        if case .aes(_, let key) = kind { AESCipher(.cbc, key: key) } else { nil }
    }

    /// The form's prefix in the upstream's name.
    var label: String {
        switch kind {
        case .plain: "dnspod"
        case .aes: "dnspod+aes"
        case .token: "dnspod+https"
        }
    }
}
