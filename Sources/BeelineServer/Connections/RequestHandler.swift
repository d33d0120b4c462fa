// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import Names

/// Reads a request, has it answered and writes the reply: one for each HTTP/1.1 connection, and for each stream of HTTP/2.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The largest body that is read: a DNS message over TCP could be no larger.
    private static let maxBody = 65_535

    private let service: ServerService
    private let client: IPAddress
    private let isHTTP2: Bool

    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// What waits for an upstream; it ends with the connection.
    private var work: Task<Void, Never>?

    init(_ service: ServerService, client: IPAddress, isHTTP2: Bool) {
        self.service = service
        self.client = client
        self.isHTTP2 = isHTTP2
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLarge = false
        case .body(let buffer):
            guard body.count + buffer.readableBytes <= Self.maxBody else {
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

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let start = NIODeadline.now()
        let keepsAlive = head.isKeepAlive
        if isTooLarge {
            let reply = ServerReply.text("a question has \(Self.maxBody) octets at the most", status: 413)
            return write(reply, start, keepsAlive: false, context)
        }
        let method: ServerRequest.Method = head.method == .GET ? .get : head.method == .POST ? .post : .other
        let type = head.headers.first(name: "content-type")?.split(separator: ";").first
        let request = ServerRequest(
            method,
            target: head.uri,
            contentType: type.map { $0.lowercased().filter { $0 != " " } },
            body: body,
            client: client
        )
        body = []
        switch service.handle(request, now: start) {
        case .reply(let reply): write(reply, start, keepsAlive: keepsAlive, context)
        case .later(let wait):
            service.began()
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let loop = context.eventLoop
            let service = service
            work = Task {
                let reply = await wait()
                service.ended()
                guard !Task.isCancelled else { return }
                loop.execute {
                    let (handler, context) = bound.value
                    handler.write(reply, start, keepsAlive: keepsAlive, context)
                }
            }
        }
    }

    private func write(_ reply: ServerReply, _ start: NIODeadline, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        work = nil
        guard context.channel.isActive else { return }
        let closes = !isHTTP2 && (!keepsAlive || service.isDraining)
        var headers = HTTPHeaders()
        headers.add(name: "content-type", value: reply.contentType)
        headers.add(name: "content-length", value: String(reply.body.count))
        headers.add(name: "cache-control", value: reply.maxAge.map { "max-age=\($0)" } ?? "no-store")
        headers.add(name: "date", value: service.date)
        if let allow = reply.allow { headers.add(name: "allow", value: allow) }
        if let seconds = reply.retryAfter { headers.add(name: "retry-after", value: String(seconds)) }
        if closes { headers.add(name: "connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: reply.status)
        let version: HTTPVersion = isHTTP2 ? .http2 : .http1_1
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: headers))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
        if closes {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
        } else {
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        service.note(reply, client: client, time: .nanoseconds((NIODeadline.now() - start).nanoseconds))
    }

    func channelInactive(context: ChannelHandlerContext) {
        work?.cancel()
        work = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Closes a connection that is quiet for too long.
final class QuietHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
