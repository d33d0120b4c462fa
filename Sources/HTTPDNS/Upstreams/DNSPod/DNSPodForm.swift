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

    /// Unencrypted, without an account. An attacker on the path can read and change answers.
    public static let plain = DNSPodForm(kind: .plain)

    /// The name is encrypted with AES-128 and the account's key of 16 characters; shorter keys are padded with `0`.
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

    /// The form's prefix in the upstream's name.
    var label: String {
        switch kind {
        case .plain: "dnspod"
        case .aes: "dnspod+aes"
        case .token: "dnspod+https"
        }
    }
}

/// Encrypts requests to DNSPod and decrypts its replies.
struct DNSPodCipher: Sendable {
    private enum Kind: Sendable {
        case none
        case aes(AESCipher)
    }

    private let kind: Kind

    /// No encryption.
    static let none = DNSPodCipher(kind: .none)

    private init(kind: Kind) {
        self.kind = kind
    }

    init(_ form: DNSPodForm) throws(UpstreamError) {
        switch form.kind {
        case .plain, .token: kind = .none
        case .aes(_, let key):
            guard let cipher = AESCipher(.cbc, key: key) else {
                throw UpstreamError(.misconfigured, "the AES key must have 16 characters")
            }
            kind = .aes(cipher)
        }
    }

    /// The encrypted text for the request.
    func seal(_ text: String, vector: [UInt8]? = nil) throws(UpstreamError) -> String {
        switch kind {
        case .none: return text
        case .aes(let cipher):
            do {
                return Hex.encode(try cipher.seal(Array(text.utf8), vector: vector))
            } catch {
                throw UpstreamError(.misconfigured, "the question cannot be encrypted: \(error)")
            }
        }
    }

    /// The decrypted text of a reply.
    func open(_ text: String) throws(UpstreamError) -> String {
        let octets: [UInt8]?
        switch kind {
        case .none: return text
        case .aes(let cipher): octets = Hex.decode(text[...].trimmingSpace).flatMap(cipher.open)
        }
        guard let octets, let text = String(validUTF8: octets) else {
            throw UpstreamError(.malformedAnswer, "the reply is not encrypted with the account's key")
        }
        return text
    }
}
