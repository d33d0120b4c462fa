// SPDX-License-Identifier: Apache-2.0

#if ServiceLifecycle
import Beeline
import BeelineProxy
import BeelineServer
import BeelineService
import BeelineTesting
import HTTPDNS
import Logging
import NIOConcurrencyHelpers
import Names
import ServiceLifecycle
import Testing

@Suite("Services of swift-service-lifecycle", .timeLimit(.minutes(1)))
struct LifecycleServiceTests {
    private static let anyPort = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)

    private static var resolver: Resolver {
        var settings = ResolverConfiguration(upstreams: [ScriptedUpstream("a") { _ in .silence }], system: nil)
        settings.network.monitor = nil
        return Resolver(settings)
    }

    private static func group(_ services: [any Service]) -> ServiceGroup {
        ServiceGroup(services: services, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs services until `body` returns, then shuts them down gracefully.
    private static func run(_ services: [any Service], body: @escaping @Sendable () async throws -> Void) async throws {
        let group = group(services)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    private static func wait(_ what: String, for isDone: @escaping @Sendable () -> Bool) async throws {
        try await eventually(what) { isDone() }
    }

    @Test("a group starts servers, and a graceful shutdown closes their ports")
    func servers() async throws {
        var web = ServerConfiguration()
        web.listen = Self.anyPort
        var dns = DNSServerConfiguration()
        dns.listen = [Self.anyPort]
        let resolver = Self.resolver
        let ports = NIOLockedValueBox<[Endpoint]>([])
        let add = { @Sendable (endpoint: Endpoint) in ports.withLockedValue { $0.append(endpoint) } }
        let services: [any Service] = [
            LifecycleService(resolver),
            LifecycleService(try HTTPDNSServer(web, resolver: resolver), onStart: add),
            LifecycleService(try DNSServer(dns, resolver: resolver), onStart: add),
        ]
        try await Self.run(services) {
            try await Self.wait("two ports") { ports.withLockedValue { $0.count } == 2 }
            for endpoint in ports.withLockedValue({ $0 }) {
                await (try RawConnection.connect(to: endpoint)).close()
            }
        }
        for endpoint in ports.withLockedValue({ $0 }) {
            await #expect(throws: (any Error).self) { try await RawConnection.connect(to: endpoint) }
        }
        // The resolver is shut down.
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Host("a.test")) }
        #expect(error?.code == .shutDown)
    }

    @Test("a client is shut down last if it is listed first, and a proxy closes its port")
    func clientAndProxy() async throws {
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.resolver.network.monitor = nil
        let client = try BeelineClient(configuration)
        let port = NIOLockedValueBox<Endpoint?>(nil)
        let services = [
            LifecycleService(client, grace: .seconds(1)),
            LifecycleService(ProxyConfiguration(), client: client) { proxy in
                port.withLockedValue { $0 = proxy.endpoint }
            },
        ]
        try await Self.run(services) {
            try await Self.wait("the port") { port.withLockedValue { $0 } != nil }
        }
        let endpoint = try #require(port.withLockedValue { $0 })
        await #expect(throws: (any Error).self) { try await RawConnection.connect(to: endpoint) }
        let error = await #expect(throws: BeelineError.self) { try await client.get("http://a.test/") }
        #expect(error?.code == .shutDown)
    }

    @Test("a server that cannot listen ends its group with its error")
    func cannotListen() async throws {
        var configuration = ServerConfiguration()
        configuration.listen = Endpoint(IPAddress(v4: 0xc000_0201), port: 1)
        let resolver = Self.resolver
        let group = Self.group([LifecycleService(try HTTPDNSServer(configuration, resolver: resolver))])
        let error = await #expect(throws: ServerError.self) { try await group.run() }
        #expect(error?.code == .cannotListen)
        await resolver.shutDown()
    }

    @Test("cancellation ends a service as a graceful shutdown does", arguments: [true, false])
    func cancelled(isStarted: Bool) async throws {
        let resolver = Self.resolver
        var web = ServerConfiguration()
        web.listen = Self.anyPort
        let started = Gate()
        let services: [any Service] = [
            LifecycleService(resolver),
            LifecycleService(try HTTPDNSServer(web, resolver: resolver), onStart: { _ in started.open() }),
        ]
        let running = Task { try await Self.group(services).run() }
        if isStarted { try await started.wait() }
        running.cancel()
        _ = await running.result
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(Host("a.test")) }
        #expect(error?.code == .shutDown)
    }
}
#endif
