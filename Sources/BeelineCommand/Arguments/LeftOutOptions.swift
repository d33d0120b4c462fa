// SPDX-License-Identifier: Apache-2.0

/// The options of curl that `fetch` refuses. docs/COMMAND.md has the reasons; this list has all options of its table.
enum LeftOutOptions {
    private static let names: Set<Substring> = [
        "tls13-ciphers", "proxy-tls13-ciphers", "sigalgs", "tls-earlydata", "alpn", "crlfile", "proxy-crlfile",
        "cert-status", "doh-cert-status", "engine", "dump-ca-embed", "abstract-unix-socket", "ntlm", "ntlm-wb",
        "negotiate", "delegation", "service-name", "krb", "proxy-ntlm", "proxy-negotiate", "proxy-service-name",
        "aws-sigv4", "httpsig-algo", "httpsig-headers", "httpsig-key", "httpsig-keyid", "socks4", "socks4a",
        "socks5-gssapi", "socks5-gssapi-nec", "socks5-gssapi-service", "http3", "http3-only", "proxy-http2",
        "proxy-http3", "haproxy-protocol", "haproxy-clientip", "alt-svc", "doh-url", "doh-insecure", "dns-servers",
        "dns-interface", "dns-ipv4-addr", "dns-ipv6-addr", "ip-tos", "vlan-priority", "tcp-fastopen", "mptcp",
        "tr-encoding", "http0.9", "sslv2", "sslv3", "false-start", "trace", "trace-ascii", "trace-config", "libcurl",
        "variable", "manual", "xattr", "metalink", "ipfs-gateway", "ssl-sessions", "tlsauthtype", "tlsuser",
        "tlspassword", "proxy-tlsauthtype", "proxy-tlsuser", "proxy-tlspassword", "append", "crlf", "list-only",
        "quote", "use-ascii", "ssl", "ssl-reqd", "login-options", "upload-flags", "compressed-ssh", "hostpubmd5",
        "hostpubsha256", "knownhosts", "pubkey",
    ]

    /// The beginnings of further names.
    private static let beginnings = ["expand-", "disable-ep", "ftp-", "mail-", "sasl-", "telnet-", "tftp-"]

    /// The letters of options among ``names`` and ``beginnings``.
    private static let letters: Set<Character> = ["a", "B", "l", "M", "P", "Q", "t", "2", "3"]

    /// Whether the name, possibly with `no-`, is that of a refused option.
    static func contain(_ name: Substring) -> Bool {
        let name = name.dropping(prefix: "no-") ?? name
        return names.contains(name) || beginnings.contains { name.hasPrefix($0) }
    }

    static func contain(letter: Character) -> Bool { letters.contains(letter) }
}
