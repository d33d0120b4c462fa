// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer
import BeelineStore

// The code of the guides of HTTPDNS and BeelineServer, compiled.

func resolveNames() async throws {
    var configuration = ClientConfiguration()
    configuration.upstreams = [
        try UpstreamSpec(parsing: "doh:https://dns.example/dns-query#192.0.2.53"),
        try UpstreamSpec(parsing: "dnspod"),
        .system,
    ]
    configuration.resolver.order = .hedge
    let client = try BeelineClient(configuration)

    let resolution = try await client.resolver.resolve(Host("api.example.com"), port: 443)
    print(resolution.endpoints, resolution.upstream, resolution.source, resolution.ttl)
    for failure in resolution.failures { print("before that:", failure) }
    await client.shutDown()
}

func ownUpstream(_ endpoint: Endpoint) -> ClientConfiguration {
    var configuration = ClientConfiguration()
    configuration.resolver.upstreams = [MyUpstream(at: endpoint)]
    configuration.upstreams = []  // no others
    return configuration
}

func keepAnswers() async throws {
    var configuration = ClientConfiguration()
    configuration.resolver.cache.store = AnswerDatabase(path: "/home/me/.cache/app/answers.sqlite")
    configuration.resolver.cache.staleWhileRefresh = .seconds(3_600)
    configuration.resolver.cache.maxStale = .seconds(86_400)
    configuration.resolver.refresh.hosts = [try Host("api.example.com")]
    configuration.resolver.cache.ttlOverrides = ["cdn.example.com": .seconds(60) ... .seconds(600)]
    let client = try BeelineClient(configuration)
    let running = Task { await client.run() }

    _ = try await client.get("https://api.example.com/")
    running.cancel()
    await running.value  // the kept answers are written now
    await client.shutDown()
}

func switchForAll(_ transport: EngineTransport, _ key: [UInt8]) throws -> ResolverConfiguration {
    var configuration = ResolverConfiguration()
    configuration.remoteSwitch = RemoteSwitch(
        try HTTPURL("https://config.example.com/httpdns.json"),
        at: [try IPAddress(parsing: "192.0.2.80")],
        publicKey: key,
        transport: transport
    )
    configuration.names.denied = ["bank.example"]
    configuration.check.refusedNetworks = ["203.0.113.0/24"].compactMap { IPNetwork($0) }
    return configuration
}

func oldForm(_ resolver: Resolver) async throws -> DirectForm.Request {
    let url = try HTTPURL("https://www.example.com/a?b=c")
    let resolution = try await resolver.resolve(url.host, port: url.origin.port)
    var form = DirectForm()
    form.queryParameter = "host"
    return try form.request(for: url, at: resolution.endpoints[0])
}

func serveNames(_ resolver: Resolver) async throws {
    var configuration = ServerConfiguration()
    configuration.tls = .init(certificate: "server.pem", key: "server.key")
    configuration.zones = ["corp.zone"]
    configuration.accounts = [try ServerAccount(id: "100000", secret: "000102030405060708090a0b0c0d0e0f")]
    let server = try HTTPDNSServer(configuration, resolver: resolver)
    print("listening on", try await server.start())
    await server.run()  // until its task is cancelled
}
