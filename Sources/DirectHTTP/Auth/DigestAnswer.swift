// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// The answer to a ``DigestChallenge`` for one request (RFC 7616 §3.4). A pure value: the caller provides the client nonce.
struct DigestAnswer {
    var challenge: DigestChallenge
    var user: String
    var password: String
    var method: String
    /// The request target as sent.
    var uri: String
    var count: UInt32
    var clientNonce: String
    /// The body if it is in memory.
    var body: ByteBuffer?

    /// The quality of protection. The inner nil is the form of RFC 2069; the outer nil is an unsupported offer.
    private var protection: DigestChallenge.Protection?? {
        if challenge.protections.isEmpty { return .some(nil) }
        if challenge.protections.contains(.request) { return .request }
        return body == nil ? nil : .requestAndBody
    }

    /// The value of `Authorization`; nil if the server requires protection of the body and the body is not in memory.
    var fieldValue: String? {
        guard let protection else { return nil }
        var parts = [
            userPart, "realm=\(quoted(challenge.realm))", "uri=\(quoted(uri))", "nonce=\(quoted(challenge.nonce))",
            "response=\"\(response(protection))\"",
        ]
        if let name = challenge.algorithmName { parts.append("algorithm=\(name)") }
        if let protection {
            parts += ["qop=\(protection.rawValue)", "nc=\(countText)", "cnonce=\(quoted(clientNonce))"]
        } else if challenge.algorithm.isSession {
            parts.append("cnonce=\(quoted(clientNonce))")
        }
        if let opaque = challenge.opaque { parts.append("opaque=\(quoted(opaque))") }
        if challenge.hashesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private func hash(_ text: String) -> String { challenge.algorithm.hash(text.utf8) }

    private func response(_ protection: DigestChallenge.Protection?) -> String {
        // RFC 7616 §3.4.2 (A1) and §3.4.3 (A2).
        var secret = hash("\(user):\(challenge.realm):\(password)")
        if challenge.algorithm.isSession { secret = hash("\(secret):\(challenge.nonce):\(clientNonce)") }
        var request = "\(method):\(uri)"
        if protection == .requestAndBody, let body { request += ":" + challenge.algorithm.hash(body.readableBytesView) }
        guard let protection else { return hash("\(secret):\(challenge.nonce):\(hash(request))") }
        return hash("\(secret):\(challenge.nonce):\(countText):\(clientNonce):\(protection.rawValue):\(hash(request))")
    }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// RFC 7616 §3.4.4: hashed if the server asks for it; as `username*` if the name cannot be quoted.
    private var userPart: String {
        if challenge.hashesUser { return "username=\"\(hash("\(user):\(challenge.realm)"))\"" }
        guard user.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
            return "username*=UTF-8''\(PercentEncoding.encode(user, keeping: Self.attributeCharacters))"
        }
        return "username=\(quoted(user))"
    }

    /// Characters that are not encoded, besides letters and digits (RFC 8187 §3.2.1).
    private static let attributeCharacters = PercentEncoding.Allowed("!#$&+-.^_`|~")

    private func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}
