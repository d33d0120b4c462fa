// SPDX-License-Identifier: Apache-2.0

/// The TLS settings: trust, versions and client certificate. The server name is not part of them; it is the origin's.
public struct TLSSettings: Hashable, Sendable {
    /// The versions of TLS that ``TLSSettings/minVersion`` and ``TLSSettings/maxVersion`` choose from.
    public enum Version: Hashable, Sendable, Comparable {
        /// TLS 1.0 (RFC 2246), which RFC 8996 forbids. For old devices only.
        case tls10
        /// TLS 1.1 (RFC 4346), which RFC 8996 forbids. For old devices only.
        case tls11
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
    /// Folders with additional roots, like curl's `--capath`. Every PEM file in them is read, at most 10,000 files. Default none.
    package var rootFolders: [String] = []
    /// Whether the server's certificate is verified. Default true. False is curl's `-k` and removes the protection of TLS.
    public var verifiesCertificate = true
    /// The minimum TLS version. Default TLS 1.2.
    public var minVersion = Version.tls12
    /// The maximum TLS version. Default nil: the latest. If it is lower than ``minVersion``, connections fail with `tlsFailed`.
    public var maxVersion: Version?
    /// The cipher suites up to TLS 1.2, in order of preference; those of 1.3 are fixed. Default empty: NIOSSL's.
    package var cipherSuites: [CipherSuite] = []
    /// The groups for the key exchange, in the order of preference. Default empty: the library's choice.
    package var groups: [Group] = []
    /// The client certificate for servers that request one. Default nil: none.
    public var identity: ClientIdentity?
    /// Public keys that hosts must present in addition to a valid certificate. Default none. They are checked even if
    /// ``verifiesCertificate`` is false. As in curl, the key of the host's own certificate is checked.
    public var pins: [PinnedHost] = []
    /// Whether connections resume sessions of earlier connections to the same name (RFC 8446 §2.2), which avoids sending the
    /// certificate again. Default true. The engine keeps sessions in memory, and shares them only among connections with equal
    /// settings.
    public var resumesSessions = true
    /// The file to which the secrets of each connection are appended, so that Wireshark can decrypt a recording of it (the
    /// format of `SSLKEYLOGFILE`). Default nil: none. Who can read the file can read the traffic. A file that cannot be written
    /// fails each connection with `tlsFailed`.
    public var keyLogFile: String?
    /// When the ClientHello with the server name is encrypted (RFC 9849). Default ``ECH/automatic``.
    public var ech = ECH.automatic
    /// Whether a ClientHello that is not encrypted has a random ECH extension (RFC 9849 §6.2), so that observers cannot tell the
    /// two apart. Default false: it costs every handshake a key and about 250 bytes, and some devices on the path drop it.
    public var sendsECHGrease = false
    /// Whether ALPN offers HTTP/2 (RFC 7301). HTTP/1.1 is always offered. Default true.
    public var offersHTTP2 = true
    /// Whether ALPN offers HTTP/2 only. Default false. ``offersHTTP2`` must be true.
    package var requiresHTTP2 = false

    /// A group for the key exchange (RFC 8446 §4.2.7).
    package enum Group: String, Hashable, Sendable, CaseIterable {
        /// X25519 (RFC 7748).
        case x25519 = "X25519"
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"
        /// X25519 together with ML-KEM-768, against quantum computers.
        case x25519MLKEM768 = "X25519MLKEM768"
    }

    /// A cipher suite of TLS 1.2 or older, by OpenSSL's name. The last four have no forward secrecy.
    package enum CipherSuite: String, Hashable, Sendable, CaseIterable {
        case ecdheECDSAWithAES128GCM = "ECDHE-ECDSA-AES128-GCM-SHA256"
        case ecdheRSAWithAES128GCM = "ECDHE-RSA-AES128-GCM-SHA256"
        case ecdheECDSAWithAES256GCM = "ECDHE-ECDSA-AES256-GCM-SHA384"
        case ecdheRSAWithAES256GCM = "ECDHE-RSA-AES256-GCM-SHA384"
        case ecdheECDSAWithChaCha20 = "ECDHE-ECDSA-CHACHA20-POLY1305"
        case ecdheRSAWithChaCha20 = "ECDHE-RSA-CHACHA20-POLY1305"
        case ecdheECDSAWithAES128 = "ECDHE-ECDSA-AES128-SHA"
        case ecdheRSAWithAES128 = "ECDHE-RSA-AES128-SHA"
        case ecdheECDSAWithAES256 = "ECDHE-ECDSA-AES256-SHA"
        case ecdheRSAWithAES256 = "ECDHE-RSA-AES256-SHA"
        case rsaWithAES128GCM = "AES128-GCM-SHA256"
        case rsaWithAES256GCM = "AES256-GCM-SHA384"
        case rsaWithAES128 = "AES128-SHA"
        case rsaWithAES256 = "AES256-SHA"
    }

    /// Creates the default settings: system roots, full verification, TLS 1.2 or later.
    public init() {}

    /// The settings for upstreams, without what is for origins: client certificate, ECH list, pins of every host.
    package var forUpstreams: TLSSettings {
        var settings = self
        settings.pins.removeAll { $0.host == nil }
        settings.identity = nil
        settings.ech = .automatic
        return settings
    }

    /// The default settings for TLS to a proxy: the certificate is always verified, and the client certificate and pins, which
    /// are meant for origins, are removed. ECH is off, because a proxy has no HTTPS record.
    package var forProxy: TLSSettings {
        var settings = self
        settings.verifiesCertificate = true
        settings.pins = []
        settings.identity = nil
        settings.ech = .off
        return settings
    }
}
