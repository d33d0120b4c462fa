// SPDX-License-Identifier: Apache-2.0

public import Beeline
import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

/// A local proxy that resolves origins by HTTPDNS, for unmodified programs. It serves HTTP (CONNECT and plain `http://`) and
/// SOCKS5 on one port, and a PAC file at `/proxy.pac`.
///
/// ```swift
/// let client = try BeelineClient()
/// let proxy = try await BeelineProxy.start(client: client)
/// print(proxy.url)                    // http://127.0.0.1:49152
/// await proxy.stop()
/// ```
///
/// Programs connect by *name*, and only the address of the connection changes: TLS, certificates, cookies and bodies
/// remain the program's own. The proxy uses the client's resolver, pins and upstream proxies. It ends with
/// ``stop(within:)``, or when its last reference is released.
public final class BeelineProxy: Sendable {
    /// The configuration that the proxy was started with.
    public let configuration: ProxyConfiguration
    private let client: BeelineClient
    private let links: GatewayLinks?
    private let loop: any EventLoop
    private let server: NIOLoopBound<ProxyLoop>
    private let listening: NIOLockedValueBox<Endpoint>

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - configuration: the endpoint to listen on, the policy and the limits.
    ///   - client: the client whose resolver, pins and upstream proxies are used.
    /// - Throws: ``ProxyError`` with code `needsCredentials` or `cannotListen`.
    public static func start(
        _ configuration: ProxyConfiguration = ProxyConfiguration(),
        client: BeelineClient
    ) async throws(ProxyError) -> BeelineProxy {
        guard configuration.listen.address.isLoopback || configuration.credentials != nil else {
            throw ProxyError(
                .needsCredentials,
                "other machines can reach \(configuration.listen): listen on 127.0.0.1, or require user and password"
            )
        }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let links = configuration.gatewayHosts.isEmpty ? nil : GatewayLinks(hosts: configuration.gatewayHosts)
        do {
            let (server, listening) = try await loop.flatSubmit {
                let server = ProxyLoop(on: loop, client: client, configuration: configuration, gateway: links)
                let bound = NIOLoopBound(server, eventLoop: loop)
                let listening = server.endpoint
                return server.listen(at: configuration.listen).map { _ in (bound, listening) }
            }.get()
            return BeelineProxy(
                configuration,
                client: client,
                links: links,
                loop: loop,
                server: server,
                listening: listening
            )
        } catch {
            throw Self.cannotListen(at: configuration.listen, cause: error)
        }
    }

    private init(
        _ configuration: ProxyConfiguration,
        client: BeelineClient,
        links: GatewayLinks?,
        loop: any EventLoop,
        server: NIOLoopBound<ProxyLoop>,
        listening: NIOLockedValueBox<Endpoint>
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

    private static func cannotListen(at endpoint: Endpoint, cause error: any Error) -> ProxyError {
        if let error = error as? ProxyError { return error }
        return ProxyError(.cannotListen, ListenFailure.explain(error, at: endpoint), underlyingError: error)
    }

    // MARK: Endpoint

    /// The endpoint that the proxy listens on.
    public var endpoint: Endpoint { listening.withLockedValue { $0 } }

    /// The proxy's URL without credentials: `http://127.0.0.1:49152`.
    public var url: String { "http://\(endpoint)" }

    /// The proxy's URL with user and password, for environment variables.
    public var urlWithCredentials: String {
        guard let credentials = configuration.credentials else { return url }
        let allowed = { (text: String) in PercentEncoding.encode(text, keeping: .init("-._")) }
        return "http://\(allowed(credentials.user)):\(allowed(credentials.password))@\(endpoint)"
    }

    /// Listens again, on the same port if possible, after the system has closed the socket. The system does that, for
    /// example, when an app is suspended.
    ///
    /// - Returns: the endpoint that the proxy listens on now.
    /// - Throws: ``ProxyError`` with code `cannotListen` or `ended`.
    @discardableResult
    public func rebind() async throws(ProxyError) -> Endpoint {
        let last = endpoint
        do {
            return try await listen(at: last)
        } catch let error as ProxyError {
            throw error
        } catch {
            // The port is in use. A port chosen by the system can be replaced by another; a configured port cannot.
            guard configuration.listen.port == 0 else { throw Self.cannotListen(at: last, cause: error) }
            do {
                return try await listen(at: configuration.listen)
            } catch {
                throw Self.cannotListen(at: configuration.listen, cause: error)
            }
        }
    }

    private func listen(at endpoint: Endpoint) async throws -> Endpoint {
        try await loop.flatSubmit { [server] in server.value.listen(at: endpoint) }.get()
    }

    /// The gateway; nil if ``ProxyConfiguration/gatewayHosts`` is empty.
    public var gateway: Gateway? { links.map { Gateway(proxy: self, links: $0) } }

    // MARK: Control

    /// Whether names are resolved by HTTPDNS; if false, the system resolves them. Changes the client's setting too. Open tunnels
    /// are not affected.
    public var isHTTPDNSEnabled: Bool {
        get { client.isHTTPDNSEnabled }
        set {
            client.isHTTPDNSEnabled = newValue
            loop.execute { [server] in server.value.origins.closeAll() }
        }
    }

    /// The current and total counts.
    public func counts() async -> ProxyCounts {
        (try? await loop.submit { [server] in server.value.counts }.get()) ?? ProxyCounts()
    }

    /// Stops accepting connections, waits for tunnels and exchanges to end, and closes those that remain after `limit`.
    ///
    /// - Parameter limit: The longest time to wait. Default zero: everything is closed at once.
    public func stop(within limit: Duration = .zero) async {
        let deadline = NIODeadline.now() + TimeAmount(limit: limit)
        try? await loop.flatSubmit { [server] in server.value.drain(until: deadline) }.get()
    }
}
