// SPDX-License-Identifier: Apache-2.0

/// How TLS is done: whom to trust and what to accept. The server name is never here: it is the origin's.
public struct TLSSettings: Hashable, Sendable {
    /// TLS versions that can be demanded.
    public enum Version: Hashable, Sendable {
        /// RFC 5246.
        case tls12
        /// RFC 8446.
        case tls13
    }

    /// Whether the system's roots are trusted. Default true.
    public var trustsSystemRoots = true
    /// PEM files with further roots, as curl's `--cacert`. Default none.
    public var rootFiles: [String] = []
    /// PEM texts with further roots. Default none.
    public var rootPEMs: [String] = []
    /// Whether the certificate is checked at all. Default true; false is curl's `-k` and gives up all that TLS is for.
    public var verifiesCertificate = true
    /// The lowest version accepted. Default TLS 1.2.
    public var minimumVersion = Version.tls12
    /// Who we are to a server that asks for a certificate. Default nil: nobody.
    public var identity: ClientIdentity?
    /// Public keys that hosts must show on top of a certificate that is in order. Default none. They hold even where
    /// ``verifiesCertificate`` is false. The key that counts is that of the host's own certificate, as in curl.
    public var pins: [PinnedHost] = []
    /// Whether a connection takes up the session of an earlier one to the same name (RFC 8446 §2.2), which spares both sides the
    /// certificate. Default true. Sessions are kept in memory, by the engine, and only among connections with equal settings.
    public var resumesSessions = true
    /// Whether HTTP/2 is offered in ALPN (RFC 7301); HTTP/1.1 always is. Default true.
    public var offersHTTP2 = true

    /// The defaults: system roots, full check, TLS 1.2 or later.
    public init() {}
}
