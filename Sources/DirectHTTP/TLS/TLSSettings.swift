// SPDX-License-Identifier: Apache-2.0

/// The TLS settings: trust, versions and client certificate. The server name is not part of them; it is the origin's.
public struct TLSSettings: Hashable, Sendable {
    /// TLS versions that can be required.
    public enum Version: Hashable, Sendable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// Whether the system's roots are trusted. Default true.
    public var trustsSystemRoots = true
    /// PEM files with additional roots, like curl's `--cacert`. Default none.
    public var rootFiles: [String] = []
    /// PEM texts with additional roots. Default none.
    public var rootPEMs: [String] = []
    /// Whether the server's certificate is verified. Default true. False is curl's `-k` and removes the protection of TLS.
    public var verifiesCertificate = true
    /// The minimum TLS version. Default TLS 1.2.
    public var minVersion = Version.tls12
    /// The client certificate for servers that request one. Default nil: none.
    public var identity: ClientIdentity?
    /// Public keys that hosts must present in addition to a valid certificate. Default none. They are checked even if
    /// ``verifiesCertificate`` is false. As in curl, the key of the host's own certificate is checked.
    public var pins: [PinnedHost] = []
    /// Whether connections resume sessions of earlier connections to the same name (RFC 8446 §2.2), which avoids sending the
    /// certificate again. Default true. The engine keeps sessions in memory, and shares them only among connections with equal
    /// settings.
    public var resumesSessions = true
    /// Whether ALPN offers HTTP/2 (RFC 7301). HTTP/1.1 is always offered. Default true.
    public var offersHTTP2 = true

    /// Creates the default settings: system roots, full verification, TLS 1.2 or later.
    public init() {}
}
