// SPDX-License-Identifier: Apache-2.0

import Crypto
import Names

/// A Digest challenge (RFC 7616 §3.3).
struct DigestChallenge: Hashable, Sendable {
    /// The hash algorithms, weakest first.
    enum Algorithm: String, CaseIterable, Sendable {
        case md5 = "MD5"
        case md5Session = "MD5-sess"
        case sha256 = "SHA-256"
        case sha256Session = "SHA-256-sess"

        var isSession: Bool { self == .md5Session || self == .sha256Session }

        /// The digest in lower-case hexadecimal.
        func hash(_ bytes: some Sequence<UInt8>) -> String {
            let bytes = Array(bytes)
            switch self {
            case .md5, .md5Session: return Hex.encode(Insecure.MD5.hash(data: bytes))
            case .sha256, .sha256Session: return Hex.encode(SHA256.hash(data: bytes))
            }
        }
    }

    /// The quality of protection (`qop`).
    enum Protection: String, Sendable {
        case request = "auth"
        /// Protects the body, too.
        case requestAndBody = "auth-int"
    }

    var realm: String
    var nonce: String
    var opaque: String?
    var algorithm: Algorithm
    /// The algorithm's name as the server wrote it; nil without one.
    var algorithmName: String?
    /// The protections that the server offers; empty means the form of RFC 2069.
    var protections: Set<Protection>
    /// Whether only the nonce is stale and the credentials were right.
    var isStale: Bool
    /// Whether the user name is to be hashed (RFC 7616 §3.4.4).
    var hashesUser: Bool

    /// Returns nil if the challenge is not Digest, is malformed or asks for something unsupported.
    init?(_ challenge: AuthChallenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == "digest", let realm = parameters["realm"], let nonce = parameters["nonce"] else {
            return nil
        }
        algorithmName = parameters["algorithm"]
        let name = (algorithmName ?? "MD5").lowercased()
        guard let algorithm = Algorithm.allCases.first(where: { $0.rawValue.lowercased() == name }) else { return nil }
        self.algorithm = algorithm
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        let offered = parameters["qop"]?.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" } ?? []
        protections = Set(offered.compactMap { Protection(rawValue: String($0)) })
        // An offer without a supported protection does not mean the form of RFC 2069.
        guard offered.isEmpty || !protections.isEmpty else { return nil }
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
    }

    /// The first supported challenge with the strongest algorithm; nil if there is none.
    static func best(of fields: [String]) -> DigestChallenge? {
        let known = fields.flatMap(AuthChallenge.parse).compactMap(DigestChallenge.init)
        return Algorithm.allCases.reversed().lazy.compactMap { algorithm in
            known.first { $0.algorithm == algorithm }
        }.first
    }
}
