// SPDX-License-Identifier: Apache-2.0

/// Credentials for requests to an origin.
///
/// ```swift
/// configuration.credentials[Origin(scheme: .https, host: try Host("api.example.com"))] = .bearer(token)
/// ```
///
/// Credentials belong to one origin. A redirect to another origin keeps them only if `RequestOptions.credentialsFollowRedirects`
/// allows it. A request's own `Authorization` field takes precedence.
public struct Credentials: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        case basic
        /// Basic without waiting for a challenge, and Digest if the proxy asks for it.
        case basicFirst
        case bearer
        case digest
        case any
    }

    let kind: Kind
    /// Empty for a token.
    let user: String
    /// The password or the token.
    let secret: String

    /// Basic: user and password in Base64, not encrypted, with every request (RFC 7617). Use it only over TLS.
    public static func basic(user: String, password: String) -> Credentials {
        Credentials(kind: .basic, user: user, secret: password)
    }

    /// A bearer token with every request (RFC 6750). Use it only over TLS.
    public static func bearer(_ token: String) -> Credentials {
        Credentials(kind: .bearer, user: "", secret: token)
    }

    /// Digest: user and password without ever sending the password (RFC 7616). The server answers the first request with a
    /// challenge, and the request is sent again. A body that can be read only once therefore fails with
    /// `bodyNotReplayable`, unless it waits for `100 Continue`.
    /// Later requests need no new challenge.
    ///
    /// Supported are MD5 and SHA-256 with their `-sess` forms, and `qop` of `auth`, `auth-int` (for bodies in memory) and none.
    public static func digest(user: String, password: String) -> Credentials {
        Credentials(kind: .digest, user: user, secret: password)
    }

    /// Digest if the server offers it, otherwise Basic.
    public static func any(user: String, password: String) -> Credentials {
        Credentials(kind: .any, user: user, secret: password)
    }

    /// The `Authorization` that needs no challenge; nil if the server must send one first.
    package var unaskedField: String? {
        switch kind {
        case .basic, .basicFirst: BasicCredentials(user: user, password: secret).fieldValue
        case .bearer: "Bearer " + secret
        case .digest, .any: nil
        }
    }

    /// The kind only, because the other parts are secret.
    public var description: String { "\(kind)" }
}
