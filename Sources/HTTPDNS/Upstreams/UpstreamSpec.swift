// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP
public import Names

/// The kind, address and account of an upstream, without a transport: the value of `--dns` or of a configuration file.
///
/// ```swift
/// let specs: [UpstreamSpec] = [.doh(try HTTPURL("https://1.1.1.1/dns-query")), .dnspod(), .system]
/// let upstreams = try specs.map { spec in try spec.upstream(transport: transport) }
/// ```
public struct UpstreamSpec: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case dnspod(DNSPodForm, [Endpoint], DNSPodOptions)
        case aliyun(String, secret: String?, AliyunService)
        case aliyun2(String, secret: String?, AliyunEncryption?, AliyunService)
        case baidu(String, secret: String, [Endpoint], isSecure: Bool)
        case volcengine(String, secret: String, [Endpoint], isSecure: Bool)
        case doh(HTTPURL, [IPAddress], post: Bool)
        case json(HTTPURL, [IPAddress])
        case dot(Host, [IPAddress], UInt16)
        case dns([Endpoint])
        case system
        case hosts(HostsTable)
        case hostsFile(String)
    }

    let kind: Kind

    /// DNSPod: plain, encrypted or with a token.
    ///
    /// - Parameters:
    ///   - form: The form of the queries. Default: the plain form (`/d?dn=`).
    ///   - endpoints: The endpoints; empty for the public service of that form.
    ///   - options: Further options.
    public static func dnspod(
        _ form: DNSPodForm = .plain,
        at endpoints: [Endpoint] = [],
        options: DNSPodOptions = DNSPodOptions()
    ) -> UpstreamSpec {
        UpstreamSpec(kind: .dnspod(form, endpoints, options))
    }

    /// Aliyun, version 1 (`/d`; with a secret, the signed `/sign_d`).
    ///
    /// - Parameters:
    ///   - account: The number of the account.
    ///   - secret: The key that signs queries; nil: unsigned.
    ///   - service: The addresses and the region.
    public static func aliyun(
        account: String,
        secret: String? = nil,
        service: AliyunService = AliyunService()
    ) -> UpstreamSpec {
        UpstreamSpec(kind: .aliyun(account, secret: secret, service))
    }

    /// Aliyun, version 2 (`/v2/d`).
    ///
    /// - Parameters:
    ///   - account: The number of the account.
    ///   - secret: The key that signs queries; nil: unsigned.
    ///   - encryption: The encryption of queries and answers; nil: none.
    ///   - service: The addresses and the region.
    public static func aliyun2(
        account: String,
        secret: String? = nil,
        encryption: AliyunEncryption? = nil,
        service: AliyunService = AliyunService()
    ) -> UpstreamSpec {
        UpstreamSpec(kind: .aliyun2(account, secret: secret, encryption, service))
    }

    /// Baidu.
    ///
    /// - Parameters:
    ///   - account: The number of the account.
    ///   - secret: The key that signs queries.
    ///   - endpoints: The endpoints; empty for the public service.
    ///   - isSecure: Whether to use TLS.
    public static func baidu(
        account: String,
        secret: String,
        at endpoints: [Endpoint] = [],
        isSecure: Bool = true
    ) -> UpstreamSpec {
        UpstreamSpec(kind: .baidu(account, secret: secret, endpoints, isSecure: isSecure))
    }

    /// Volcengine. The service has no published address.
    ///
    /// - Parameters:
    ///   - account: The number of the account.
    ///   - secret: The key that signs queries.
    ///   - endpoints: The endpoints.
    ///   - isSecure: Whether to use TLS.
    public static func volcengine(
        account: String,
        secret: String,
        at endpoints: [Endpoint],
        isSecure: Bool = true
    ) -> UpstreamSpec {
        UpstreamSpec(kind: .volcengine(account, secret: secret, endpoints, isSecure: isSecure))
    }

    /// DNS over HTTPS (RFC 8484).
    ///
    /// - Parameters:
    ///   - url: The URL of the service. The certificate must match its host.
    ///   - addresses: The addresses of the service. Required if the host is a name.
    ///   - post: Whether to send queries by POST instead of GET. Proxies can cache GET. Default false.
    public static func doh(_ url: HTTPURL, at addresses: [IPAddress] = [], post: Bool = false) -> UpstreamSpec {
        UpstreamSpec(kind: .doh(url, addresses, post: post))
    }

    /// DNS in JSON, as offered by Google and Cloudflare.
    ///
    /// - Parameters:
    ///   - url: The URL of the service. The certificate must match its host.
    ///   - addresses: The addresses of the service. Required if the host is a name.
    public static func json(_ url: HTTPURL, at addresses: [IPAddress] = []) -> UpstreamSpec {
        UpstreamSpec(kind: .json(url, addresses))
    }

    /// DNS over TLS (RFC 7858).
    ///
    /// - Parameters:
    ///   - host: The host that the certificate must match: a name or an address.
    ///   - addresses: The addresses of the service. Required if `host` is a name.
    ///   - port: The port. Default 853.
    public static func dot(_ host: Host, at addresses: [IPAddress] = [], port: UInt16 = 853) -> UpstreamSpec {
        UpstreamSpec(kind: .dot(host, addresses, port))
    }

    /// DNS over UDP, or over TCP if an answer does not fit (RFC 1035, RFC 7766).
    public static func dns(_ servers: [Endpoint]) -> UpstreamSpec { UpstreamSpec(kind: .dns(servers)) }

    /// The system's resolver.
    public static let system = UpstreamSpec(kind: .system)

    /// A fixed table of hosts.
    public static func hosts(_ table: HostsTable) -> UpstreamSpec { UpstreamSpec(kind: .hosts(table)) }

    /// A file in the format of hosts(5). It is read again when it changes.
    public static func hosts(file path: String) -> UpstreamSpec { UpstreamSpec(kind: .hostsFile(path)) }

    /// The default upstreams, in this order: DoH at 1.1.1.1 (Cloudflare) and at 223.5.5.5 (AliDNS), DNSPod over plain
    /// HTTP (``DNSPodForm/plain``: an attacker on the path can read and change answers), and the system's resolver.
    public static let standard: [UpstreamSpec] =
        ["https://1.1.1.1/dns-query", "https://223.5.5.5/dns-query"].compactMap { try? HTTPURL($0) }.map { .doh($0) }
        + [.dnspod(), .system]

    /// Creates the upstream.
    ///
    /// - Parameters:
    ///   - transport: The transport of upstreams that use HTTP.
    ///   - tls: The TLS settings of upstreams that do not use HTTP.
    /// - Throws: `UpstreamError` with code `misconfigured`.
    public func upstream(
        transport: EngineTransport,
        tls: TLSSettings = TLSSettings()
    ) throws(UpstreamError) -> any Upstream {
        try upstream(transport: transport as any UpstreamTransport, tls: tls)
    }

    package func upstream(
        transport: any UpstreamTransport,
        tls: TLSSettings = TLSSettings()
    ) throws(UpstreamError) -> any Upstream {
        switch kind {
        case .dnspod(let form, let endpoints, let options):
            DNSPodUpstream(form, at: endpoints, options: options, transport: transport)
        case .aliyun(let account, let secret, let service):
            AliyunUpstream(account: account, secret: secret, service: service, transport: transport)
        case .aliyun2(let account, let secret, let encryption, let service):
            try Aliyun2Upstream(
                account: account,
                secret: secret,
                encryption: encryption,
                service: service,
                transport: transport
            )
        case .baidu(let account, let secret, let endpoints, let isSecure):
            BaiduUpstream(
                account: account,
                secret: secret,
                at: endpoints,
                isSecure: isSecure,
                transport: transport
            )
        case .volcengine(let account, let secret, let endpoints, let isSecure):
            try VolcengineUpstream(
                account: account,
                secret: secret,
                at: endpoints,
                isSecure: isSecure,
                transport: transport
            )
        case .doh(let url, let addresses, let post):
            try DoHUpstream(url, at: addresses, method: post ? .post : .get, transport: transport)
        case .json(let url, let addresses): try JSONUpstream(url, at: addresses, transport: transport)
        case .dot(let host, let addresses, let port): try DoTUpstream(host, at: addresses, port: port, tls: tls)
        case .dns(let servers): try DNSUpstream(at: servers)
        case .system: SystemUpstream()
        case .hosts(let table): FixedUpstream(table)
        case .hostsFile(let path): HostsFileUpstream(path: path)
        }
    }
}
