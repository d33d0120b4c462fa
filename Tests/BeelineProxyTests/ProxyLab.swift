// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineProxy
import BeelineTesting
import NIOCore

/// A site with a certificate for each of its names, the same site in the clear, a DNS server that only the proxy uses,
/// and the proxy.
struct ProxyLab {
    let authority: TestAuthority
    let site: LoopbackOrigin
    let plain: LoopbackOrigin
    let upstream: UpstreamServer
    let client: BeelineClient
    let proxy: BeelineProxy

    /// - Parameters:
    ///   - names: the site's names; the DNS server answers them with the first of `addresses`.
    ///   - configure: changes the proxy's configuration, which allows local addresses by default.
    ///   - client: changes the configuration of the proxy's client.
    init(
        names: [String] = ["a.test", "b.test"],
        addresses: [String] = ["127.0.0.1", "127.0.0.2"],
        configure: (inout ProxyConfiguration) throws -> Void = { _ in },
        client adapt: (inout ClientConfiguration) throws -> Void = { _ in },
        handler: @escaping LoopbackOrigin.Handler = Routes.standard
    ) async throws {
        let authority = try TestAuthority()
        self.authority = authority
        var tls = ServerTLS()
        tls.certificates = try names.map { try authority.certificate(for: $0) }
        site = try await LoopbackOrigin.start(addresses: addresses, tls: tls, handler: handler)
        plain = try await LoopbackOrigin.start(addresses: addresses, handler: handler)
        upstream = try await UpstreamServer.start()
        for name in names { try upstream.zone.set(name, to: [addresses[0]]) }
        var settings = ClientConfiguration()
        settings.upstreams = [.dnspod(at: [upstream.endpoint])]
        settings.resolver.check.allowsLocalAnswers = true
        settings.resolver.families = .v4
        settings.tls.trustsSystemRoots = false
        settings.tls.rootPEMs = [authority.rootPEM]
        settings.proxies = .none
        try adapt(&settings)
        client = try BeelineClient(settings)
        var configuration = ProxyConfiguration()
        configuration.policy.tunnelPorts = []
        configuration.policy.allowsLocalAnswers = true
        try configure(&configuration)
        proxy = try await BeelineProxy.start(configuration, client: client)
    }

    /// An HTTP client that uses the proxy and resolves no names.
    func user(credentials: ProxyCredentials? = nil) throws -> BeelineClient {
        var settings = ClientConfiguration()
        settings.upstreams = []
        settings.resolver.system = nil
        settings.tls.trustsSystemRoots = false
        settings.tls.rootPEMs = [authority.rootPEM]
        let origin = Origin(scheme: .http, host: Host(proxy.endpoint.address), port: proxy.endpoint.port)
        let proxy = Proxy(origin: origin, user: credentials?.user, password: credentials?.password)
        settings.proxies = ProxySettings(http: proxy, https: proxy)
        return try BeelineClient(settings)
    }

    /// A raw connection to the proxy.
    func connect() async throws -> RawConnection { try await RawConnection.connect(to: proxy.endpoint) }

    /// Opens a tunnel.
    func tunnel(to name: String, port: UInt16) async throws -> RawConnection {
        let connection = try await connect()
        try await connection.send("CONNECT \(name):\(port) HTTP/1.1\r\nHost: \(name):\(port)\r\n\r\n")
        let head = try await connection.receive(until: "\r\n\r\n") ?? []
        guard String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 200 ") else {
            throw Unexpected(text: String(decoding: head, as: UTF8.self))
        }
        return connection
    }

    func stop() async {
        await proxy.stop()
        await client.shutDown()
        await site.stop()
        await plain.stop()
        await upstream.stop()
    }
}

/// A response that the test does not expect.
struct Unexpected: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

extension RawConnection {
    /// Receives everything until the peer closes.
    func receiveAll() async throws -> String {
        var all: [UInt8] = []
        while let bytes = try await receive() { all += bytes }
        return String(decoding: all, as: UTF8.self)
    }

    /// Receives the head of the next response.
    func receiveHead() async throws -> String {
        String(decoding: try await receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
    }

    /// Receives the next response, whose body has a Content-Length.
    func receiveResponse() async throws -> (head: String, body: String) {
        let head = try await receiveHead()
        let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = field.flatMap { Int($0.drop { !$0.isNumber }) } ?? 0
        return (head, String(decoding: try await receive(count: length), as: UTF8.self))
    }
}
