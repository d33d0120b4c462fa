// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import BeelineAsyncHTTPClient
import NIOCore
import NIOHTTP1

// The code of BeelineAsyncHTTPClient's guide, compiled; see GuideSnippets.swift.

func existingRequest(_ client: BeelineClient) async throws {
    var request = HTTPClientRequest(url: "https://api.example.com/items")
    request.headers.add(name: "Accept", value: "application/json")
    let response = try await client.execute(request, timeout: .seconds(30))
    let body = try await response.body.collect(upTo: 1 << 20)
    print(body.readableBytes)
}
#endif
