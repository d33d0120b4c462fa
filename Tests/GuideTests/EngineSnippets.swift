// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import NIOCore
import Names

// The code of DirectHTTP's guides, compiled with the imports that the first page names.

func requestToAddresses() async throws {
    let engine = Engine()
    let request = try PreparedRequest(.get, HTTPURL("https://www.example.com/"))
    let endpoints = EndpointList([
        Endpoint(IPAddress(v4: 0xc000_0201), port: 443),  // 192.0.2.1
        Endpoint(IPAddress(v4: 0xc000_0202), port: 443),
    ])
    let response = try await engine.exchange(request, from: endpoints)
    print(response.head.status, try await response.body.collect(upTo: 1 << 20).readableBytes)
    await engine.shutDown()
}

struct Table: EndpointSource {
    var addresses: [Host: [IPAddress]]

    func endpoints(for origin: Origin) async throws -> EndpointList {
        EndpointList((addresses[origin.host] ?? []).map { Endpoint($0, port: origin.port) })
    }

    func attempted(_ attempt: Attempt, for origin: Origin) {
        print(origin, attempt.endpoint, attempt.outcome)
    }
}

func throughAProxy(engine: Engine, request: PreparedRequest, proxyEndpoints: EndpointList) async throws {
    let proxy = Proxy(origin: try HTTPURL("http://proxy.example:3128").origin)
    let response = try await engine.exchange(request, from: proxyEndpoints, route: .proxy(proxy))
    print(response.head.status)
}

func encryptedClientHello(engine: Engine, request: PreparedRequest, source: EndpointList) async throws {
    var tls = TLSSettings()
    tls.ech = .required
    let response = try await engine.exchange(request, from: source, tls: tls)
    print(response.connection.ech)  // accepted
}
