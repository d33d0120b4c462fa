// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The server side of request and response, for HTTP/1.1 and HTTP/2.
struct ServerExchange: Sendable {
    let log: Watched<[ReceivedRequest]>
    let head: (@Sendable (ReceivedRequest) async throws -> Reply?)?
    let handler: LoopbackOrigin.Handler

    /// Serves HTTP/1.1 until either side closes.
    func serve(_ connection: RawConnection) async throws {
        do {
            while try await answerOne(on: connection) {}
        } catch let error as TestingError where error.code == .badInput {
            _ = try await connection.send(.text("\(error)", status: .badRequest), to: .get)
        }
    }

    /// Serves one HTTP/2 stream.
    func serve(_ stream: HTTP2ServerStream) async throws {
        guard let (received, isWhole) = try await stream.receiveHead() else { return }
        var request = received
        if let early = try await head?(request) {
            log.append(request)
            return try await stream.send(early, to: request.method)
        }
        if !isWhole, request.fields[.expect]?.lowercased() == "100-continue" {
            try await stream.sendHead(.continue, [:])
        }
        try await stream.receiveBody(of: &request, isWhole: isWhole)
        log.append(request)
        try await stream.send(try await handler(request), to: request.method)
    }

    /// Answers the next request. Returns false at the end of the connection.
    private func answerOne(on connection: RawConnection) async throws -> Bool {
        guard var request = try await connection.receiveHead() else { return false }
        if let early = try await head?(request) {
            log.append(request)
            _ = try await connection.send(early, to: request.method)
            return false
        }
        if request.fields[.expect]?.lowercased() == "100-continue" {
            try await connection.send("HTTP/1.1 100 Continue\r\n\r\n")
        }
        try await connection.receiveBody(of: &request)
        log.append(request)
        let closes = request.fields[.connection]?.lowercased() == "close" || request.version == "HTTP/1.0"
        return try await connection.send(try await handler(request), to: request.method, closes: closes)
    }
}
