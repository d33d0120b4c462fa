// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOCore
import Names

/// Who sends the request of a benchmark, through one public API or the other.
protocol ClientCaller: Sendable {
    /// Sends it and reads the body whole: its size, and whether a connection was opened for it.
    func get() async throws -> (bytes: Int, isNew: Bool)
    /// Ends what sends it.
    func shutDown() async
}

/// Calls the engine with a request made for each exchange.
struct EngineCaller: ClientCaller {
    let url: HTTPURL
    let endpoints: EndpointList
    let tls: TLSSettings
    let engine: Engine

    init(_ url: HTTPURL, endpoints: EndpointList, tls: TLSSettings, configuration: EngineConfiguration) {
        self.url = url
        self.endpoints = endpoints
        self.tls = tls
        engine = Engine(configuration: configuration)
    }

    func get() async throws -> (bytes: Int, isNew: Bool) {
        let response = try await engine.exchange(PreparedRequest(.get, url), from: endpoints, tls: tls)
        guard response.head.status == .ok else { throw BenchError(message: "status \(response.head.status)") }
        return (try await response.body.collect(upTo: 1 << 26).readableBytes, !response.isReused)
    }

    func shutDown() async { await engine.shutDown() }
}

/// Calls the client with the URL's text: cookies, redirects and hops included.
struct BeelineCaller: ClientCaller {
    let url: String
    let client: BeelineClient

    init(
        _ url: String,
        origin: Origin,
        endpoint: Endpoint,
        tls: TLSSettings,
        engine: EngineConfiguration
    ) throws {
        self.url = url
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.pinned = [.init(origin.host, port: origin.port): [endpoint.address]]
        configuration.proxies = ProxySettings()
        configuration.tls = tls
        configuration.engine = engine
        client = try BeelineClient(configuration)
    }

    func get() async throws -> (bytes: Int, isNew: Bool) {
        let response = try await client.get(url)
        guard response.status == .ok else { throw BenchError(message: "status \(response.status)") }
        return (try await response.collect(upTo: 1 << 26).readableBytes, !response.hop.isReused)
    }

    func shutDown() async { await client.shutDown() }
}
