// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
public import Beeline
public import BeelineProxy
public import BeelineServer
public import HTTPDNS
public import Names
public import ServiceLifecycle

/// A client, a resolver, a proxy or a server as a service of swift-service-lifecycle.
///
/// ```swift
/// let client = try BeelineClient()
/// let services: [any Service] = [LifecycleService(client), LifecycleService(server), application]
/// try await ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// A group shuts its services down in the reverse order, so list a client before the services that use it.
public struct LifecycleService: Service {
    /// Does the work until its task is cancelled.
    private let work: @Sendable () async throws -> Void
    /// Frees what the service owns.
    private let end: @Sendable () async -> Void

    /// A client: runs its background work, then shuts it down.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - grace: How long responses in progress may take to finish at the shutdown. Default zero: they are cut off.
    public init(_ client: BeelineClient, grace: Duration = .zero) {
        work = { await client.run() }
        end = { await client.shutDown(after: grace) }
    }

    /// A resolver that belongs to no client: runs its background work, then shuts it down.
    public init(_ resolver: Resolver) {
        work = { await resolver.run() }
        end = { await resolver.shutDown() }
    }

    /// An HTTPDNS server: starts it, and at the shutdown finishes pending answers within `ServerConfiguration.drainTime`, after
    /// `ServerConfiguration.drainDelay`. Its resolver is a service of its own.
    ///
    /// - Parameters:
    ///   - server: A server that was not started.
    ///   - onStart: Called with the endpoint once the server listens.
    public init(_ server: HTTPDNSServer, onStart: @escaping @Sendable (Endpoint) -> Void = { _ in }) {
        work = {
            onStart(try await server.start())
            await server.run()
        }
        end = { await server.stop() }
    }

    /// A DNS server: starts it, and at the shutdown finishes pending answers within `DNSServerConfiguration.drainTime`,
    /// after `DNSServerConfiguration.drainDelay`. Its resolvers are services of their own.
    ///
    /// - Parameters:
    ///   - server: A server that was not started.
    ///   - onStart: Called with each endpoint of UDP and TCP once the server listens.
    public init(_ server: DNSServer, onStart: @escaping @Sendable (Endpoint) -> Void = { _ in }) {
        work = {
            for endpoint in try await server.start().plain { onStart(endpoint) }
            await server.run()
        }
        end = { await server.stop() }
    }

    /// A proxy: starts it, and stops it at the shutdown. Its client is a service of its own.
    ///
    /// - Parameters:
    ///   - configuration: Where the proxy listens, and what it allows.
    ///   - client: The client that resolves and connects.
    ///   - grace: How long tunnels may take to end at the shutdown. Default zero: they are cut off.
    ///   - onStart: Called with the proxy once it listens.
    public init(
        _ configuration: ProxyConfiguration = ProxyConfiguration(),
        client: BeelineClient,
        grace: Duration = .zero,
        onStart: @escaping @Sendable (BeelineProxy) -> Void = { _ in }
    ) {
        work = {
            let proxy = try await BeelineProxy.start(configuration, client: client)
            onStart(proxy)
            await waitForCancellation()
            await proxy.stop(within: grace)
        }
        end = {}
    }

    /// Runs until the task is cancelled or the group shuts down gracefully, then frees everything.
    ///
    /// - Throws: The error of a server or proxy that cannot start: `ServerError` or `ProxyError`.
    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { [work] in
                try await work()
                // A service that returns ends its group. Work that has nothing to do waits for the shutdown.
                await waitForCancellation()
            }
        } catch {
            await end()
            throw error
        }
        await end()
    }
}

/// Returns when the task is cancelled.
private func waitForCancellation() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    // The stream ends with its task.
    for await _ in stream {}
    continuation.finish()
}
#endif
