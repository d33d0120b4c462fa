// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

// The code of README.md and of Beeline's first steps, compiled. `GuideTests` compares each block of every guide with this
// folder, line by line.

func firstRequest() async throws {
    let client = try BeelineClient()
    let response = try await client.get("https://www.example.com/")
    print(response.status, response.endpoint, response.resolution?.upstream ?? "pinned")
    print(String(buffer: try await response.collect(upTo: 1 << 20)))
    await client.shutDown()
}

func ownUpstreams() async throws {
    var configuration = ClientConfiguration()
    configuration.upstreams = [
        try UpstreamSpec(parsing: "doh:https://doh.pub/dns-query#1.12.12.12"),
        .dnspod(),
        .system,
    ]
    configuration.resolver.names.denied = ["intranet.example"]  // always resolved by the system
    let client = try BeelineClient(configuration)
    await client.shutDown()
}

func upload(_ client: BeelineClient) async throws {
    let response = try await client.send(.put, "https://api.example.com/photo", body: .file("/tmp/photo.jpg"))
    for try await piece in response.body {
        print(piece.readableBytes)
    }
}

func search(_ client: BeelineClient) async throws {
    let url = try HTTPURL("https://api.example.com/search").adding(query: ["q": "bees & honey", "page": "2"])
    let found = try await client.get("\(url)")
    print(found.status)
}

func login(_ client: BeelineClient) async throws {
    let form = RequestBody.form(["user": "ada", "password": "lovelace"])
    try await client.post("https://shop.example/login", body: form).body.discard()
    let me = try await client.get("https://shop.example/me")  // logged in, whatever the address
    print(me.hop.cookiesSent, me.endpoint)
}

func failure(_ client: BeelineClient) async {
    do {
        _ = try await client.get("https://api.example.com/me")
    } catch {
        print(error.message)
        for attempt in error.attempts {
            print(attempt.endpoint, attempt.outcome)
        }
    }
}

func theSwitch(_ client: BeelineClient) {
    client.isHTTPDNSEnabled = false  // every name to the system's resolver
    client.isHTTPDNSEnabled = true
}
