// SPDX-License-Identifier: Apache-2.0

public import Beeline
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

/// A proxy on this machine that finds origins by HTTPDNS, for programs that stay as they are: HTTP (CONNECT and plain
/// `http://`) and SOCKS5 on one port, and a PAC file at `/proxy.pac`.
///
/// ```swift
/// let client = try BeelineClient()
/// let proxy = try await BeelineProxy.start(client: client)
/// print(proxy.url)                    // http://127.0.0.1:49152
/// await proxy.stop()
/// ```
///
/// The program speaks to the *name*, and only the far end of its socket changes: TLS, certificates, cookies and bodies are
/// its own. The client lends its resolver, pins and upstream proxies. The proxy ends with ``stop(within:)``, or with the last
/// reference to it.
public final class BeelineProxy: Sendable {
    /// What the proxy was made with.
    public let configuration: ProxyConfiguration
    private let client: BeelineClient
    private let links: GatewayLinks?
    private let loop: any EventLoop
    private let server: NIOLoopBound<ProxyServer>
    /// Guards where it listens.
    private let listening: NIOLockedValueBox<Endpoint>

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - configuration: where it listens, where it goes, and its bounds.
    ///   - client: whose resolver, pins and upstream proxies it uses.
    /// - Throws: ``ProxyError`` with code `needsCredentials` or `cannotListen`.
    public static func start(
        _ configuration: ProxyConfiguration = ProxyConfiguration(),
        client: BeelineClient
    ) async throws(ProxyError) -> BeelineProxy {
        guard configuration.listen.address.isLoopback || configuration.credentials != nil else {
            throw ProxyError(
                .needsCredentials,
                "other machines can reach \(configuration.listen): listen on 127.0.0.1, or ask for user and password"
            )
        }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let links = configuration.gatewayHosts.isEmpty ? nil : GatewayLinks(hosts: configuration.gatewayHosts)
        do {
            let (server, listening) = try await loop.flatSubmit {
                let server = ProxyServer(
                    on: loop,
                    client: client,
                    configuration: configuration,
                    gateway: links
                )
                let bound = NIOLoopBound(server, eventLoop: loop)
                let listening = server.endpoint
                return server.listen(at: configuration.listen).map { _ in (bound, listening) }
            }.get()
            return BeelineProxy(configuration, client, links, loop, server, listening)
        } catch {
            throw Self.cannotListen(at: configuration.listen, error)
        }
    }

    private init(
        _ configuration: ProxyConfiguration,
        _ client: BeelineClient,
        _ links: GatewayLinks?,
        _ loop: any EventLoop,
        _ server: NIOLoopBound<ProxyServer>,
        _ listening: NIOLockedValueBox<Endpoint>
    ) {
        self.configuration = configuration
        self.client = client
        self.links = links
        self.loop = loop
        self.server = server
        self.listening = listening
    }

    deinit {
        loop.execute { [server] in _ = server.value.drain(until: .now()) }
    }

    private static func cannotListen(at endpoint: Endpoint, _ error: any Error) -> ProxyError {
        if let error = error as? ProxyError { return error }
        return ProxyError(.cannotListen, "cannot listen at \(endpoint): \(error)", underlyingError: error)
    }

    // MARK: Where it is

    /// Where it listens.
    public var endpoint: Endpoint { listening.withLockedValue { $0 } }

    /// The proxy's URL for those who show its credentials by themselves: `http://127.0.0.1:49152`.
    public var url: String { "http://\(endpoint)" }

    /// The proxy's URL with user and password, as environment variables carry it.
    public var urlWithCredentials: String {
        guard let credentials = configuration.credentials else { return url }
        let allowed = { (text: String) in PercentEncoding.encode(text, keeping: .init("-._")) }
        return "http://\(allowed(credentials.user)):\(allowed(credentials.password))@\(endpoint)"
    }

    /// Listens anew, at the same port where it can be had, after the system has taken the socket away: what happens to an
    /// app that was suspended.
    ///
    /// - Returns: where it listens now.
    /// - Throws: ``ProxyError`` with code `cannotListen` or `ended`.
    @discardableResult
    public func rebind() async throws(ProxyError) -> Endpoint {
        let last = endpoint
        do {
            return try await listen(at: last)
        } catch let error as ProxyError {
            throw error
        } catch {
            // Somebody has the port. Who wanted a certain one must be told; any other will do as well.
            guard configuration.listen.port == 0 else { throw Self.cannotListen(at: last, error) }
            do {
                return try await listen(at: configuration.listen)
            } catch {
                throw Self.cannotListen(at: configuration.listen, error)
            }
        }
    }

    private func listen(at endpoint: Endpoint) async throws -> Endpoint {
        try await loop.flatSubmit { [server] in server.value.listen(at: endpoint) }.get()
    }

    /// The gateway; nil where ``ProxyConfiguration/gatewayHosts`` lists nobody.
    public var gateway: Gateway? { links.map { Gateway(proxy: self, links: $0) } }

    // MARK: Control

    /// The switch. Off: every name goes to the system's resolver. It is the client's switch too; tunnels that stand stay.
    public var isHTTPDNSEnabled: Bool {
        get { client.isHTTPDNSEnabled }
        set {
            client.isHTTPDNSEnabled = newValue
            loop.execute { [server] in server.value.origins.closeAll() }
        }
    }

    /// What it has and has had.
    public func counts() async -> ProxyCounts {
        (try? await loop.submit { [server] in server.value.counts }.get()) ?? ProxyCounts()
    }

    /// Takes no more connections, lets tunnels and exchanges come to their ends, and cuts those that have not by then.
    ///
    /// - Parameter limit: how long they have. Default: no time.
    public func stop(within limit: Duration = .zero) async {
        let deadline = NIODeadline.now() + TimeAmount(limit)
        try? await loop.flatSubmit { [server] in server.value.drain(until: deadline) }.get()
    }
}
