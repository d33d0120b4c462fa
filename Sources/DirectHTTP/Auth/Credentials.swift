// SPDX-License-Identifier: Apache-2.0

/// Who a request says it is, to the origin that it is for.
///
/// ```swift
/// configuration.credentials[Origin(scheme: .https, host: try Host("api.example.com"))] = .bearer(token)
/// ```
///
/// Credentials belong to one origin: a redirect to another takes them along only where
/// `RequestOptions.credentialsFollowRedirects` says so. A request's own `Authorization` field goes before them.
public struct Credentials: Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        case basic
        /// Basic unasked, and Digest for a proxy that asks for that instead.
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

    /// User and password in the clear but for Base 64, with every request (RFC 7617): for TLS only.
    public static func basic(user: String, password: String) -> Credentials {
        Credentials(kind: .basic, user: user, secret: password)
    }

    /// A token, with every request (RFC 6750): for TLS only.
    public static func bearer(_ token: String) -> Credentials {
        Credentials(kind: .bearer, user: "", secret: token)
    }

    /// User and password by Digest (RFC 7616), which never sends the password. The first request is answered with a
    /// challenge and sent again, so a body that can be read only once fails with `bodyNotReplayable`; later ones answer by
    /// themselves.
    ///
    /// MD5 and SHA-256 with their `-sess` forms are known, and `qop` of `auth`, `auth-int` (for bodies in memory) and none.
    public static func digest(user: String, password: String) -> Credentials {
        Credentials(kind: .digest, user: user, secret: password)
    }

    /// User and password in the way that the server asks for: Digest where it offers that, else Basic.
    public static func any(user: String, password: String) -> Credentials {
        Credentials(kind: .any, user: user, secret: password)
    }

    /// The `Authorization` that needs no challenge; nil for what only the server can begin.
    package var unaskedField: String? {
        switch kind {
        case .basic, .basicFirst: BasicCredentials(user: user, password: secret).fieldValue
        case .bearer: "Bearer " + secret
        case .digest, .any: nil
        }
    }

    /// The kind alone: the rest is a secret.
    public var description: String { "\(kind)" }
}
