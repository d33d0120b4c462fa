// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The server side of one HTTP/2 stream.
struct HTTP2ServerStream: Sendable {
    typealias Payload = HTTP2Frame.FramePayload

    let info: ReceivedRequest.Connection
    let channel: any Channel
    let inbox: Inbox<Payload>

    /// Returns a function that splits an HTTP/2 connection into streams and yields each as work.
    static func multiplexer(
        _ limits: LoopbackOrigin.Limits,
        serve: @escaping @Sendable (HTTP2ServerStream) async throws -> Void
    ) -> @Sendable (any Channel, ReceivedRequest.Connection, LoopbackListener.Works) throws -> Void {
        { connection, info, works in
            var settings = NIOHTTP2Handler.ConnectionConfiguration()
            settings.initialSettings = [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.concurrentStreams),
                HTTP2Setting(parameter: .initialWindowSize, value: limits.streamWindow),
                HTTP2Setting(parameter: .maxHeaderListSize, value: 1 << 20),
            ]
            // Handlers may deliberately send a wrong length.
            settings.contentLengthValidation = .disabled
            var streams = NIOHTTP2Handler.StreamConfiguration()
            streams.targetWindowSize = limits.streamWindow
            // A test may cancel a thousand requests; do not treat that as an attack.
            streams.streamResetFrameRateLimit.maximumCount = 1_000_000
            let handler = NIOHTTP2Handler(
                mode: .server,
                eventLoop: connection.eventLoop,
                connectionConfiguration: settings,
                streamConfiguration: streams
            ) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let inbox = Inbox<Payload>()
                    try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
                    let stream = HTTP2ServerStream(info: info, channel: channel, inbox: inbox)
                    works.yield(.init(channel: channel) { try await serve(stream) })
                }
            }
            try connection.pipeline.syncOperations.addHandler(handler)
        }
    }

    // MARK: Receiving

    /// Reads the header block; nil if the stream ends without one. `isWhole` is true if no body follows.
    func receiveHead() async throws -> (request: ReceivedRequest, isWhole: Bool)? {
        while let payload = try await next() {
            guard case .headers(let headers) = payload else { continue }
            let pseudo = { headers.headers.first(name: $0) }
            guard let method = pseudo(":method").flatMap({ HTTPRequest.Method($0) }) else {
                throw TestingError(.badInput, "a header block without a method")
            }
            let request = ReceivedRequest(
                method: method,
                target: pseudo(":path") ?? "",
                version: "HTTP/2",
                fields: Self.fields(headers.headers),
                authority: pseudo(":authority") ?? pseudo("host"),
                connection: info
            )
            return (request, headers.endStream)
        }
        return nil
    }

    /// Reads the body and the trailers, unless the head is the whole request.
    func receiveBody(of request: inout ReceivedRequest, isWhole: Bool) async throws {
        var body = BodyCollector()
        while !isWhole {
            guard let payload = try await next() else {
                throw TestingError(.closed, "the stream ended in the middle of a body")
            }
            if case .headers(let headers) = payload {
                request.trailers = Self.fields(headers.headers)
                break
            }
            guard case .data(let data) = payload else { continue }
            if case .byteBuffer(let buffer) = data.data { body.add(Array(buffer.readableBytesView)) }
            if data.endStream { break }
        }
        body.finish(&request)
    }

    private func next() async throws -> Payload? {
        guard let payload = try await inbox.next() else { return nil }
        if inbox.startsAgain() { channel.read() }
        return payload
    }

    private static func fields(_ headers: HPACKHeaders) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value, _) in headers where !name.hasPrefix(":") {
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    // MARK: Sending

    /// Sends a reply to a request with this method, and ends the stream as the reply says.
    func send(_ reply: Reply, to method: HTTPRequest.Method) async throws {
        guard reply.framing != .none else { return try await reset() }
        for response in reply.interim { try await sendHead(response.status, response.headerFields) }
        var fields = reply.fields
        if reply.framing == .length, fields[.contentLength] == nil, reply.status.code != 204 {
            fields[.contentLength] = "\(reply.bodySize)"
        }
        let hasNoBody = reply.hasNoBody(for: method)
        let isWhole = hasNoBody || (reply.body.isEmpty && reply.trailers.isEmpty)
        try await sendHead(reply.status, fields, endStream: isWhole && reply.isCompleted)
        if !hasNoBody {
            try await reply.sendBody { bytes in
                try await channel.writeAndFlush(Payload.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)))))
            }
        }
        if !isWhole, reply.isCompleted { try await sendEnd(reply.trailers) }
        switch reply.ending {
        case .keepAlive: break
        case .close: try await goAway()
        case .hangUp: try await channel.parent?.cut().get()
        case .reset: try await reset()
        }
    }

    /// Sends an interim (1xx) or final response head.
    func sendHead(_ status: HTTPResponse.Status, _ fields: HTTPFields, endStream: Bool = false) async throws {
        var headers = HPACKHeaders([(":status", "\(status.code)")])
        for field in fields where !Self.connectionFields.contains(field.name.canonicalName) {
            headers.add(name: field.name.canonicalName, value: field.value)
        }
        try await channel.writeAndFlush(Payload.headers(.init(headers: headers, endStream: endStream)))
    }

    /// Connection-specific fields, which HTTP/2 does not allow (RFC 9113 §8.2.2).
    private static let connectionFields: Set<String> = ["connection", "transfer-encoding", "keep-alive", "upgrade"]

    private func sendEnd(_ trailers: HTTPFields) async throws {
        if trailers.isEmpty {
            try await channel.writeAndFlush(Payload.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)))
        } else {
            let headers = HPACKHeaders(trailers.map { ($0.name.canonicalName, $0.value) })
            try await channel.writeAndFlush(Payload.headers(.init(headers: headers, endStream: true)))
        }
    }

    private func reset() async throws {
        try await channel.writeAndFlush(Payload.rstStream(.internalError))
    }

    /// Announces that the connection accepts no more streams. The client closes it after its last stream.
    private func goAway() async throws {
        let payload = Payload.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil)
        try await channel.parent?.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload))
    }
}
