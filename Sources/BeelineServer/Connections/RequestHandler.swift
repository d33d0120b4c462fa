// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1

/// Reads the requests of an HTTP/1.1 connection, passes them to the service and writes the replies.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: ServerService
    private let ends: ConnectionEnds
    private let timer: ConnectionTimer
    private let isOverTLS: Bool

    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// The number of requests whose replies are not fully written. With pipelining, the next may start before that.
    private var underWay = 0
    /// The task that waits for an upstream. Cancelled when the connection closes.
    private var work: Task<Void, Never>?
    private var isEnding = false
    /// Set while the end of a reply must be written. True: close the connection after that.
    private var nextEnd: Bool?
    /// Whether to close the connection when the replies have left.
    private var isFinishing = false

    init(_ service: ServerService, ends: ConnectionEnds, timer: ConnectionTimer, isOverTLS: Bool) {
        self.service = service
        self.ends = ends
        self.timer = timer
        self.isOverTLS = isOverTLS
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLarge = false
            guard head.hasOneHost else {
                self.head = nil
                return answer(head, context, refusal: .hostCount)
            }
            answerExpectation(of: head, context)
        case .body(let buffer):
            guard body.count + buffer.readableBytes <= ServerRequest.maxBody else {
                isTooLarge = true
                return
            }
            body.append(contentsOf: buffer.readableBytesView)
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, context)
        }
    }

    /// Answers a client that waits with its body (RFC 9110 §10.1.1).
    private func answerExpectation(of head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let expectation = head.version == .http1_1 ? head.headers.first(name: "expect") : nil
        guard expectation?.lowercased() == "100-continue" else { return }
        let length = head.headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
        guard length <= ServerRequest.maxBody else {
            isTooLarge = true
            self.head = nil
            return answer(head, context)
        }
        let interim = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
    }

    /// - Parameter refusal: the reply to a head that is already refused.
    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext, refusal: ServerReply? = nil) {
        let keepsAlive = head.isKeepAlive && !isTooLarge
        let hasContent = head.method != .HEAD
        let request = ServerRequest(
            ServerRequest.Method(head.method.rawValue),
            target: head.uri,
            contentType: head.headers.first(name: "content-type"),
            body: body,
            client: ends.client(head.headers.joined("x-forwarded-for")),
            local: ends.local
        )
        body = []
        underWay += 1
        timer.beginAnswer()
        if let refusal = refusal ?? misdirection(of: head) {
            service.note(refusal, client: request.client, time: .zero)
            return write(refusal, hasContent: hasContent, keepsAlive: false, context)
        }
        let trace = service.tracing.map { _ in
            TraceFields(
                parent: head.headers.first(name: "traceparent"),
                state: head.headers.joined("tracestate")
            )
        }
        work = service.answer(request, isTooLarge: isTooLarge, trace: trace, on: context.eventLoop) { [self] reply in
            write(reply, hasContent: hasContent, keepsAlive: keepsAlive, context)
        }
    }

    /// TLS prevents DNS rebinding: an attacker's page has no certificate for our name.
    private func misdirection(of head: HTTPRequestHead) -> ServerReply? {
        isOverTLS || ends.mayBeCalled(head.headers.first(name: "host")) ? nil : .misdirected
    }

    private func write(_ reply: ServerReply, hasContent: Bool, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        work = nil
        guard context.channel.isActive else { return }
        let closes = !keepsAlive || service.isDraining
        var headers = HTTPHeaders()
        for field in reply.fields(date: service.date) { headers.add(name: field.name, value: field.value) }
        if closes { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: nil
        )
        timer.beginReply()
        let body = hasContent ? reply.body : []
        let sent = context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))))
        guard !context.channel.isWritable else { return end(context, closes: closes) }
        // The next request is read after the end of a reply. Wait, so that a client that does not read fills no memory.
        context.flush()
        sent.assumeIsolated().whenComplete { _ in self.end(context, closes: closes) }
    }

    private func end(_ context: ChannelHandlerContext, closes: Bool) {
        nextEnd = closes
        // NIO delivers the next pipelined request during the write of an end. If its reply ended here too, the calls
        // would nest, and thousands of requests behind a slow one would overflow the stack.
        guard !isEnding else { return }
        isEnding = true
        defer { isEnding = false }
        while let closes = nextEnd.take() {
            context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
                self.ended(context, closes: closes)
            }
        }
    }

    /// Continues after a reply has left.
    private func ended(_ context: ChannelHandlerContext, closes: Bool) {
        underWay -= 1
        if closes || (isFinishing && underWay == 0) {
            context.close(promise: nil)
        } else if underWay == 0 {
            // The first part of the next request may have arrived during the reply.
            if head == nil { timer.waitForRequest() } else { timer.beginRequest() }
        }
    }

    /// Closes the connection when the replies have left. Runs on the channel's event loop.
    func finish(_ channel: any Channel) {
        isFinishing = true
        if underWay == 0 { channel.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        work = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension HTTPRequestHead {
    /// Whether the request has one Host, or none in HTTP/1.0. Other requests must be refused (RFC 9112 §3.2).
    fileprivate var hasOneHost: Bool {
        let count = headers["host"].count
        return count == 1 || (count == 0 && version != .http1_1)
    }
}

extension HTTPHeaders {
    /// Joins the lines of a list field (RFC 9110 §5.3). Nil if the field is absent.
    fileprivate func joined(_ name: String) -> String? {
        let lines = self[name]
        return lines.isEmpty ? nil : lines.joined(separator: ",")
    }
}
