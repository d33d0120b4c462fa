// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// Options for the proxies of `fetch`.
struct ProxyOptions: FetchOptionGroup {
    /// The value of the last one of `-x`, `--socks5` and similar options, with its scheme; empty for none.
    var proxy: String?
    var noproxy: String?
    var preproxy: String?
    var user: String?
    var basic = false
    var digest = false
    var anyauth = false
    var tunnels = false
    var connectsWithHTTP10 = false
    var hidesTunnelHeads = false
    var headers: [String] = []
    var tls = TLSValues()

    static let options: [FetchOption] = [
        .text("proxy", "x", value: "url", help: "Use this proxy; \"\" for none") {
            ($0.proxy.proxy, $0.proxy.connectsWithHTTP10) = ($1, false)
        },
        .text("proxy1.0", value: "url", help: "Use this HTTP proxy, and ask for tunnels with HTTP/1.0") {
            ($0.proxy.proxy, $0.proxy.connectsWithHTTP10) = ($1, true)
        },
        .text("socks5", value: "host", help: "Use this SOCKS5 proxy; it resolves the names") {
            $0.proxy.proxy = ProxyOptions.withScheme("socks5", $1)
        },
        // Beeline logs in to SOCKS5 proxies in this way only.
        .ignored("socks5-basic"),
        .text("socks5-hostname", value: "host", help: "The same as --socks5") {
            $0.proxy.proxy = ProxyOptions.withScheme("socks5h", $1)
        },
        .text("preproxy", value: "url", help: "Reach the HTTP proxy through this SOCKS5 proxy") {
            $0.proxy.preproxy = $1
        },
        .text("noproxy", value: "list", help: "List of hosts that do not use the proxy") { $0.proxy.noproxy = $1 },
        .flag("proxytunnel", "p", help: "Open a tunnel through the HTTP proxy for http:// too") {
            $0.proxy.tunnels = $1
        },
        .text("proxy-user", "U", value: "user:pass", help: "User and password for the proxy") { $0.proxy.user = $1 },
        .flag("proxy-basic", help: "Use Basic authentication with the proxy (default)") { $0.proxy.basic = $1 },
        .flag("proxy-digest", help: "Use Digest authentication with the proxy") { $0.proxy.digest = $1 },
        .flag("proxy-anyauth", help: "Use the authentication method that the proxy asks for") {
            $0.proxy.anyauth = $1
        },
        .text("proxy-header", value: "line", help: "Send this header to the proxy only; @file reads a file") {
            $0.proxy.headers.append($1)
        },
        .flag("suppress-connect-headers", help: "Leave the headers of tunnels out of -i and -D") {
            $0.proxy.hidesTunnelHeads = $1
        },
        .flag("proxy-insecure", help: "Accept any certificate of the HTTPS proxy") { $0.proxy.tls.insecure = $1 },
        .text("proxy-cacert", value: "file", help: "Also trust the CAs in this PEM file for the proxy") {
            $0.proxy.tls.rootFiles.append($1)
        }.path(),
        .text("proxy-capath", value: "dir", help: "Also trust the CAs in this folder for the proxy") {
            $0.proxy.tls.rootFolders += TLSValues.folders($1)
        }.path(),
        .text("proxy-cert", value: "cert[:pass]", help: "Client certificate for the proxy") { $0.proxy.tls.cert = $1 }
            .path(),
        .text("proxy-cert-type", value: "type", help: "Form of --proxy-cert: PEM or DER") {
            $0.proxy.tls.certType = $1
        },
        .text("proxy-key", value: "file", help: "Private key of --proxy-cert") { $0.proxy.tls.key = $1 }.path(),
        .text("proxy-key-type", value: "type", help: "Form of --proxy-key: PEM or DER") { $0.proxy.tls.keyType = $1 },
        .text("proxy-pass", value: "phrase", help: "Passphrase of --proxy-key") { $0.proxy.tls.passphrase = $1 },
        .text(
            "proxy-pinnedpubkey",
            value: "hashes",
            help: "Public keys that the proxy must have, as for --pinnedpubkey"
        ) {
            $0.proxy.tls.pins = $1
        },
        .text("proxy-ciphers", value: "list", help: "Ciphers of TLS 1.2 and older for the proxy") {
            $0.proxy.tls.ciphers = $1
        },
        .flag("proxy-tlsv1", help: nil) { $0.proxy.tls.minVersion = $1 ? .tls10 : nil },
    ]

    static func withScheme(_ scheme: String, _ host: String) -> String {
        host.contains("://") ? host : "\(scheme)://\(host)"
    }
}
