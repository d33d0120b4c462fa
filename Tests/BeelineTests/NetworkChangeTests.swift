// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@Suite("Network changes")
struct NetworkChangeTests {
    /// A monitor whose networks the test sets.
    private final class Monitor: NetworkMonitor {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation
        private let now = Gate()

        init() {
            (stream, continuation) = AsyncStream.makeStream()
        }

        func current() -> Network { Network(id: now.isOpen ? "second" : "first", families: .v4) }

        func changes() -> AsyncStream<Void> { stream }

        func change() {
            now.open()
            continuation.yield()
        }
    }

    @Test("after a change of network, old connections are not reused and names are resolved again")
    func retires() async throws {
        let monitor = Monitor()
        let (began, told) = (Gate(), Gate())
        let lab = try await ClientLab { configuration in
            configuration.resolver.network.monitor = monitor
            configuration.resolver.network.debounce = .zero
            configuration.resolver.network.onChange = { ($0.id == "second" ? told : began).open() }
        } handler: { _ in
            .text("ok")
        }
        let running = Task { await lab.client.run() }
        // The first network also counts as a change.
        try await began.wait()
        for _ in 0..<2 { _ = try await lab.client.get(lab.url("a.test")).text() }
        #expect(lab.site.connections.accepted == 1)
        monitor.change()
        try await told.wait()
        _ = try await lab.client.get(lab.url("a.test")).text()
        #expect(lab.site.connections.accepted == 2)
        await lab.stop()
        await running.value
    }

    @Test("without IPv4, pins and proxies with IPv4 addresses are reached through NAT64")
    func byNAT64() async throws {
        let site = try await LoopbackOrigin.start(addresses: ["::1"]) { _ in .text("reached") }
        let proxy = try await ProxyServer.start(.http, addresses: ["::1"]) { _, _ in site.endpoint }
        // With this prefix, 0.0.0.1 becomes ::1.
        let prefix = try #require(IPNetwork("::/96").flatMap { NAT64Prefix($0) })
        let network = Network(id: "v6", families: .v6, nat64: [prefix])
        let host = try Host("a.test")
        let pinning = try plainClient { $0.pinned = [ClientConfiguration.Pin(host): [IPAddress(v4: 1)]] }
        await pinning.resolver.networkChanged(to: network)
        #expect(try await pinning.get("http://a.test:\(site.port)/").text() == "reached")
        let proxied = try plainClient {
            $0.proxies.http = Proxy(parsing: "http://0.0.0.1:\(proxy.endpoint.port)")
        }
        await proxied.resolver.networkChanged(to: network)
        #expect(try await proxied.get("http://a.test/").text() == "reached")
        for client in [pinning, proxied] { await client.shutDown() }
        await proxy.stop()
        await site.stop()
    }
}
