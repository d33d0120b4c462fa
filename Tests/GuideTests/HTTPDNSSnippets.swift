// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import Names

// The overview of HTTPDNS, compiled with the imports that its page names.

func resolverAlone() async throws {
    let engine = Engine()
    let transport = EngineTransport(engine: engine)
    let doh = try UpstreamSpec.doh(HTTPURL("https://1.1.1.1/dns-query")).upstream(transport: transport)
    let resolver = Resolver(ResolverConfiguration(upstreams: [doh]))
    let resolution = try await resolver.resolve(Host("www.example.com"), port: 443)
    print(resolution.endpoints, resolution.source, resolution.ttl)
    await resolver.shutDown()
    await engine.shutDown()
}
