// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

// The code of the guide to WebSockets, compiled.

func conversation(_ client: BeelineClient) async throws {
    let socket = try await client.webSocket("wss://www.example.com/live", subprotocols: ["chat"])
    try await socket.send("hello")
    for try await message in socket.messages {
        switch message {
        case .text(let text): print(text)
        case .binary(let bytes): print(bytes.readableBytes, "bytes")
        }
    }
    print(socket.closure?.code ?? .noStatusReceived, socket.closure?.reason ?? "")
}

func boundsOfAWebSocket(_ client: BeelineClient) async throws {
    var settings = WebSocketSettings()
    settings.maxMessageBytes = 1 << 20
    settings.pingInterval = .seconds(30)
    settings.offersCompression = false
    let socket = try await client.webSocket("wss://www.example.com/live", settings: settings)
    print(try await socket.ping())
    await socket.close(.goingAway, reason: "good night")
}

func refusedWebSocket(_ client: BeelineClient) async {
    do {
        _ = try await client.webSocket("wss://www.example.com/members")
    } catch {
        let answer = (error.underlyingError as? DirectHTTPError)?.response
        print(error.message, answer?.status ?? "no answer")
    }
}
