// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The last handler of an HTTP/2 connection (RFC 9113): it carries many exchanges, a stream each, on frames that NIO's
/// handler reads and writes. It makes no channel for a stream: a stream is a value in a table.
final class HTTP2Handler: ChannelInboundHandler, ConnectionHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// What we may have unread of the whole connection. The bound of one stream is ``streamWindow``.
    static let connectionWindow = 16 << 20
    /// How many exchanges are begun before the peer has said how many it takes (RFC 9113 §6.5.2 recommends at least 100).
    static let presumedCapacity = 100

    let streamWindow: Int
    private let keepIdle: TimeAmount
    private let notify: (ConnectionNotice) -> Void
    private var context: ChannelHandlerContext?
    private var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    private var ids: [ObjectIdentifier: HTTP2StreamID] = [:]
    private var nextID: HTTP2StreamID = 1
    /// Streams with something to hand over at the end of this read.
    private var touched: [HTTP2Stream] = []
    /// Streams that ended badly during this read, in case nothing says more about it.
    private var closing: [StreamClosedEvent] = []
    private var uncredited = 0
    private var isDraining = false
    private var rest = ActivityWatch()
    private var timer: Scheduled<Void>?
    private var timerDue: NIODeadline?

    init(streamWindow: Int, keepIdle: TimeAmount, notify: @escaping (ConnectionNotice) -> Void) {
        self.streamWindow = streamWindow
        self.keepIdle = keepIdle
        self.notify = notify
    }

    // MARK: Exchanges

    func start(_ exchange: Exchange) {
        guard !exchange.isOver else { return notify(.free) }
        guard let context, context.channel.isActive, !isDraining, nextID < HTTP2StreamID(Int32.max - 2) else {
            notify(.free)
            return exchange.fail(.unprocessed("the connection takes no further request"))
        }
        let stream = HTTP2Stream(id: nextID, exchange: exchange)
        nextID = nextID.advanced(by: 2)
        streams[stream.id] = stream
        ids[ObjectIdentifier(exchange)] = stream.id
        let headers = HTTP2Headers.request(exchange.request)
        switch exchange.request.body.storage {
        case .bytes(let bytes) where bytes.readableBytes > 0:
            write(.headers(.init(headers: headers)), stream, context)
            write(.data(.init(data: .byteBuffer(bytes), endStream: true)), stream, context)
        default:
            write(.headers(.init(headers: headers, endStream: stream.isRequestSent)), stream, context)
        }
        context.flush()
        stream.watch.begin(now: context.eventLoop.now, idle: exchange.limits.idle, deadline: exchange.limits.deadline)
        arm(stream.watch.due, context)
    }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        guard let context, let stream = stream(of: exchange), !stream.isRequestSent else { return done(false) }
        guard piece.readableBytes > 0 else { return done(true) }
        stream.unsentFrames += 1
        let left = context.eventLoop.makePromise(of: Void.self)
        left.futureResult.assumeIsolated().whenComplete { [weak stream] _ in
            guard let stream else { return }
            stream.unsentFrames -= 1
            stream.watch.note(now: context.eventLoop.now)
            stream.sendWaiter.take()?(true)
        }
        let frame = HTTP2Frame(streamID: stream.id, payload: .data(.init(data: .byteBuffer(piece))))
        context.writeAndFlush(wrapOutboundOut(frame), promise: left)
        if stream.unsentFrames < HTTP2Stream.maximumUnsentFrames {
            done(true)
        } else {
            stream.sendWaiter = done
        }
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange), !stream.isRequestSent else { return }
        stream.isRequestSent = true
        write(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), stream, context)
        context.flush()
    }

    func resumeReading(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        stream.isStalled = false
        stream.watch.note(now: context.eventLoop.now)
        if credit(stream, context) { context.flush() }
    }

    func abandon(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        write(.rstStream(.cancel), stream, context)
        context.flush()
        remove(stream)
    }

    func drain() {
        guard !isDraining else { return }
        isDraining = true
        notify(.draining)
        if streams.isEmpty { closeNow() }
    }

    func closeNow() {
        context?.closeTransport()
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let window = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: Self.connectionWindow - 65_535)
        context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: window)), promise: nil)
        becomeIdle(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .settings(.settings(let settings)):
            let limit = settings.last { $0.parameter == .maxConcurrentStreams }?.value
            if let limit { notify(.capacity(limit)) }
        case .goAway(let last, let code, _):
            refuse(after: last, code)
        case .headers(let headers):
            take(frame.streamID, context) { stream throws(DirectHTTPError) in
                try stream.take(headers, now: context.eventLoop.now)
            }
        case .data(let body):
            if case .byteBuffer(let bytes) = body.data { uncredited += bytes.readableBytes }
            take(frame.streamID, context) { stream throws(DirectHTTPError) in try stream.take(body) }
        case .rstStream(let code):
            reset(frame.streamID, code)
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        for closed in closing {
            if let code = closed.reason { reset(closed.streamID, code) }
        }
        closing.removeAll(keepingCapacity: true)
        for stream in touched { deliver(stream, context) }
        touched.removeAll(keepingCapacity: true)
        if uncredited >= Self.connectionWindow / 2 {
            let update = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: uncredited)
            uncredited = 0
            context.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: update)), promise: nil)
        }
        context.flush()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // NIO tells of the end before it tells why: by a frame, or by an error of its own that says what was wrong.
        if let closed = event as? StreamClosedEvent, closed.reason != nil { closing.append(closed) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? NIOHTTP2Errors.StreamError {
            fail(error.streamID, .malformed("\(error.baseError)"))
            return
        }
        let isFault = error is any NIOHTTP2Error
        let what = isFault ? "what the server sent is not HTTP/2" : "the connection broke"
        let code: DirectHTTPError.Code = isFault ? .malformedResponse : .connectionLost
        failAll(DirectHTTPError(code, "\(what): \(error)", underlyingError: error))
        closeNow()
    }

    func channelInactive(context: ChannelHandlerContext) {
        failAll(DirectHTTPError(.connectionLost, "the server closed the connection"))
        timer?.cancel()
        notify(.closed)
        context.fireChannelInactive()
    }

    // MARK: Streams

    private func stream(of exchange: Exchange) -> HTTP2Stream? {
        ids[ObjectIdentifier(exchange)].flatMap { streams[$0] }
    }

    private func take(
        _ id: HTTP2StreamID,
        _ context: ChannelHandlerContext,
        _ body: (HTTP2Stream) throws(DirectHTTPError) -> Void
    ) {
        guard let stream = streams[id] else { return }
        stream.watch.note(now: context.eventLoop.now)
        do {
            try body(stream)
        } catch {
            stream.pendingEnd = .failure(error)
            write(.rstStream(.protocolError), stream, context)
        }
        if touched.last !== stream { touched.append(stream) }
    }

    private func deliver(_ stream: HTTP2Stream, _ context: ChannelHandlerContext) {
        let isLast = stream.pendingEnd != nil
        // The place is given back before the caller hears of the end, so that its next request finds it.
        if isLast, streams[stream.id] != nil {
            if !stream.isRequestSent { write(.rstStream(.cancel), stream, context) }
            remove(stream)
        }
        if !stream.deliver() { _ = credit(stream, context) }
    }

    /// Allows the peer as much again as the caller has taken, half a window at a time.
    private func credit(_ stream: HTTP2Stream, _ context: ChannelHandlerContext) -> Bool {
        guard !stream.isStalled, stream.uncredited >= streamWindow / 2, streams[stream.id] != nil else { return false }
        write(.windowUpdate(windowSizeIncrement: stream.uncredited), stream, context)
        stream.uncredited = 0
        return true
    }

    private func reset(_ id: HTTP2StreamID, _ code: NIOHTTP2.HTTP2ErrorCode) {
        // RFC 9113 §8.7: a refused stream was not processed. NO_ERROR after a whole response only ends our upload.
        let error: DirectHTTPError =
            code == .refusedStream
            ? .unprocessed("the server refused the stream")
            : DirectHTTPError(.streamReset, "the server reset the stream: \(code)")
        fail(id, error)
    }

    /// RFC 9113 §6.8: streams after the last one were not processed.
    private func refuse(after last: HTTP2StreamID, _ code: NIOHTTP2.HTTP2ErrorCode) {
        isDraining = true
        notify(.draining)
        for id in streams.keys where id > last { fail(id, .unprocessed("the server is going away: \(code)")) }
        if streams.isEmpty { closeNow() }
    }

    /// Ends a stream from our side. First the reason, then the reset: NIO tells of the stream's end at once, which must not be
    /// taken for the reason.
    private func end(_ stream: HTTP2Stream, with error: DirectHTTPError, _ context: ChannelHandlerContext) {
        stream.pendingEnd = .failure(error)
        write(.rstStream(.cancel), stream, context)
        fail(stream.id, error)
    }

    private func fail(_ id: HTTP2StreamID, _ error: DirectHTTPError) {
        guard let stream = streams[id] else { return }
        remove(stream)
        if stream.pendingEnd == nil { stream.pendingEnd = .failure(error) }
        _ = stream.deliver()
    }

    private func failAll(_ error: DirectHTTPError) {
        for stream in streams.values {
            var error = error
            error.isBeforeResponse = !stream.hasHead
            fail(stream.id, error)
        }
    }

    private func remove(_ stream: HTTP2Stream) {
        guard streams.removeValue(forKey: stream.id) != nil else { return }
        ids[ObjectIdentifier(stream.exchange)] = nil
        guard let context else { return }
        if streams.isEmpty { becomeIdle(context) }
        notify(.free)
        if isDraining, streams.isEmpty { closeNow() }
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload,
        _ stream: HTTP2Stream,
        _ context: ChannelHandlerContext
    ) {
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream.id, payload: payload)), promise: nil)
    }

    // MARK: Time

    private func becomeIdle(_ context: ChannelHandlerContext) {
        rest.rest(now: context.eventLoop.now, keep: keepIdle)
        arm(rest.due, context)
    }

    private func arm(_ due: NIODeadline?, _ context: ChannelHandlerContext) {
        guard let due, timerDue.map({ due < $0 }) ?? true else { return }
        timer?.cancel()
        timerDue = due
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        timerDue = nil
        guard let context else { return }
        let now = context.eventLoop.now
        for stream in streams.values {
            switch stream.watch.check(now: now, isStalled: stream.isStalled) {
            case .wait, .restedEnough:
                arm(stream.watch.due, context)
            case .silent(let limit):
                end(stream, with: .silent(for: limit), context)
            case .late:
                end(stream, with: .late, context)
            }
        }
        context.flush()
        guard streams.isEmpty else { return }
        if rest.check(now: now, isStalled: false) == .restedEnough { closeNow() } else { arm(rest.due, context) }
    }
}
