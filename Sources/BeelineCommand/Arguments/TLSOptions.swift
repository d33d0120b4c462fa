// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// The values of the options for TLS with an origin or a proxy.
struct TLSValues: Hashable, Sendable {
    var insecure = false
    var rootFiles: [String] = []
    var rootFolders: [String] = []
    var cert: String?
    var certType: String?
    var key: String?
    var keyType: String?
    var passphrase: String?
    var pins: String?
    var minVersion: TLSSettings.Version?
    var maxVersion: String?
    var ciphers: String?
    var groups: String?
    /// False with `--no-sessionid`.
    var resumesSessions = true
    /// The values of `--ech`, in order.
    var ech: [String] = []

    /// Splits the value of `--capath`, which may name several folders.
    static func folders(_ text: String) -> [String] { text.split(separator: ":").map(String.init) }
}

/// Options for TLS with the origins.
struct TLSOptions: FetchOptionGroup {
    var values = TLSValues()

    static let options: [FetchOption] = [
        .flag("insecure", "k", help: "Accept any certificate; the server may be an impostor") {
            $0.tls.values.insecure = $1
        },
        .text("capath", value: "dir", help: "Also trust the CAs in the PEM files of this folder") {
            $0.tls.values.rootFolders += TLSValues.folders($1)
        }.path(),
        .text("cert", "E", value: "cert[:pass]", help: "Client certificate, with its chain") { $0.tls.values.cert = $1 }
            .path(),
        .text("cert-type", value: "type", help: "Form of --cert: PEM (default) or DER") { $0.tls.values.certType = $1 },
        .text("key", value: "file", help: "Private key of --cert; without it, the file of --cert has the key") {
            $0.tls.values.key = $1
        }.path(),
        .text("key-type", value: "type", help: "Form of --key: PEM (default) or DER") { $0.tls.values.keyType = $1 },
        .text("pass", value: "phrase", help: "Passphrase of --key") { $0.tls.values.passphrase = $1 },
        .text("pinnedpubkey", value: "hashes", help: "Public keys that servers must have: sha256//HASH;… or a file") {
            $0.tls.values.pins = $1
        },
        .text("tls-max", value: "version", help: "Maximum version of TLS: 1.0, 1.1, 1.2 or 1.3") {
            $0.tls.values.maxVersion = $1
        },
        .flag("tlsv1", "1", help: "Use TLS 1.0 or later") { $0.tls.values.minVersion = $1 ? .tls10 : nil },
        .flag("tlsv1.0", help: "Use TLS 1.0 or later") { $0.tls.values.minVersion = $1 ? .tls10 : nil },
        .flag("tlsv1.1", help: "Use TLS 1.1 or later") { $0.tls.values.minVersion = $1 ? .tls11 : nil },
        .flag("tlsv1.2", help: "Use TLS 1.2 or later (default)") { $0.tls.values.minVersion = $1 ? .tls12 : nil },
        .flag("tlsv1.3", help: "Use TLS 1.3") { $0.tls.values.minVersion = $1 ? .tls13 : nil },
        .text("ciphers", value: "list", help: "Ciphers of TLS 1.2 and older, by OpenSSL's names") {
            $0.tls.values.ciphers = $1
        },
        .text("curves", value: "list", help: "Groups for the key exchange, such as X25519:P-256") {
            $0.tls.values.groups = $1
        },
        .flag("sessionid", help: "Resume TLS sessions of earlier connections (default)") {
            $0.tls.values.resumesSessions = $1
        },
        .text("ech", value: "config", help: "Encrypt the server name: true, hard, false, grease or ecl:BASE64") {
            $0.tls.values.ech.append($1)
        },
        // The system's roots are always trusted; --cacert and --capath add to them.
        .ignored("ca-native"), .ignored("proxy-ca-native"),
        // They concern TLS libraries of other systems, and what TLS no longer has; curl on Linux ignores them too.
        .ignored("ssl-allow-beast"), .ignored("ssl-auto-client-cert"), .ignored("ssl-no-revoke"),
        .ignored("ssl-revoke-best-effort"), .ignored("proxy-ssl-allow-beast"), .ignored("proxy-ssl-auto-client-cert"),
        .ignored("npn"), .ignored(value: "egd-file"), .ignored(value: "random-file"),
    ]
}
