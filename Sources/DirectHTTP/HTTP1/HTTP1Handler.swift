// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// The last handler of an HTTP/1.1 connection: it writes requests, parses responses and delivers them to the one exchange
/// that has the connection. Everything here runs on the connection's event loop.
final class HTTP1Handler: ChannelDuplexHandler, ConnectionHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// A body in memory leaves with its head up to this size, in one write and one TLS record; a larger one leaves in pieces.
    static let smallBody = 16 * 1024

    /// Informational responses that one exchange may bring: a peer that sends them for ever is cut off.
    static let maximumInformational = 32

    /// Whether a proxy forwards the requests.
    private let isForwarded: Bool
    private let keepIdle: TimeAmount
    private let isSecured: Bool
    private let wakes: WakeQueue
    private let notify: (ConnectionNotice) -> Void
    private var parser: HTTP1ResponseParser
    private var context: ChannelHandlerContext?

    private var exchange: Exchange?
    /// Where request heads are written.
    private var head = ByteBuffer()
    private var isRequestSent = true
    /// What is left of a body whose length was told. Its last byte ends the request: the response may come before the task
    /// that read the body hears that it is done.
    private var unsentBytes: Int64 = 0
    /// What is left of a body in memory. It goes to the socket in pieces, as fast as that takes them: each is a sign of life.
    private var unsentBody: ByteBuffer?
    /// Whether the response came instead of `100 Continue`: no piece of the body follows, and the server alone is waited for.
    private var isBodyRefused = false
    /// Whether the request has a body that does not go with its head.
    private var hasLongBody = false
    private var keepAlive = true
    private var informationalCount = 0
    private var hasReadResponse = false
    /// What was parsed since the last delivery.
    private var pendingHead: Shared<Exchange.ExchangeHead>?
    private var pendingPieces: [ByteBuffer] = []
    private var pendingEnd: Result<HTTPFields?, DirectHTTPError>?
    /// The time of the read whose news are still to be delivered: looking at the clock costs more than most of what is done then.
    private var readTime: NIODeadline?
    /// Why the connection was lost while nobody had it.
    private var loss: (any Error)?
    private var isStalled = false
    private var hasHeldRead = false
    private var sendWaiter: ((Bool) -> Void)?
    private var watch = ActivityWatch()
    private var timer: Scheduled<Void>?
    private let bursts = SocketBursts()

    init(
        isForwarded: Bool,
        limits: HTTP1ResponseParser.Limits,
        keepIdle: TimeAmount,
        isSecured: Bool,
        wakes: WakeQueue,
        notify: @escaping (ConnectionNotice) -> Void
    ) {
        self.isForwarded = isForwarded
        self.keepIdle = keepIdle
        self.isSecured = isSecured
        self.wakes = wakes
        self.notify = notify
        parser = HTTP1ResponseParser(limits: limits)
    }

    // MARK: Exchanges

    func start(_ exchange: Exchange, now: NIODeadline) {
        guard !exchange.isOver else { return becomeIdle(now) }
        guard let context, context.channel.isActive, self.exchange == nil else {
            // Nothing of the request has left, so that any method may go again.
            var error =
                loss.map(DirectHTTPError.broken)
                ?? DirectHTTPError(.connectionLost, "the server closed the connection before the request")
            error.isBeforeResponse = true
            error.isUnprocessed = true
            return exchange.fail(error)
        }
        self.exchange = exchange
        keepAlive = true
        informationalCount = 0
        hasReadResponse = false
        hasLongBody = false
        isBodyRefused = false
        parser.expect(method: exchange.request.method)
        // The buffer is ours again once the socket or TLS has taken the last head: then it costs no memory.
        head.clear()
        HTTP1RequestWriter.write(exchange.request, isForwarded: isForwarded, into: &head)
        switch exchange.request.body.storage {
        case .none:
            isRequestSent = true
        case .bytes(let bytes) where bytes.readableBytes <= Self.smallBody:
            isRequestSent = true
            head.writeImmutableBuffer(bytes)
        case .bytes(let bytes):
            isRequestSent = false
            hasLongBody = true
            unsentBody = bytes
            context.write(wrapOutboundOut(head), promise: nil)
            watch(exchange, now, context)
            return sendBody(context)
        case .file, .stream:
            isRequestSent = false
            hasLongBody = true
            if case .length(let length) = exchange.request.framing {
                unsentBytes = length
                isRequestSent = length == 0
            }
        }
        context.writeAndFlush(wrapOutboundOut(head), promise: nil)
        watch(exchange, now, context)
    }

    private func watch(_ exchange: Exchange, _ now: NIODeadline, _ context: ChannelHandlerContext) {
        watch.begin(now: now, idle: exchange.limits.idle, deadline: exchange.limits.deadline)
        armTimer(context)
    }

    /// Sends of a body in memory what the socket takes now.
    private func sendBody(_ context: ChannelHandlerContext) {
        while context.channel.isWritable, var rest = unsentBody.take(),
            let piece = rest.readSlice(length: min(rest.readableBytes, FileBody.pieceSize))
        {
            // Before the write, which may end the exchange.
            isRequestSent = rest.readableBytes == 0
            unsentBody = isRequestSent ? nil : rest
            context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
        }
    }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        guard let context, exchange === self.exchange, !isRequestSent else { return done(false) }
        if exchange.request.framing == .chunked {
            guard let chunk = HTTP1RequestWriter.chunk(piece) else { return done(true) }
            context.writeAndFlush(wrapOutboundOut(chunk), promise: nil)
        } else {
            context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
            unsentBytes -= Int64(piece.readableBytes)
            isRequestSent = unsentBytes == 0
        }
        // The write may have failed at once, and the exchange with it: then there is no one left to resume a waiter.
        guard exchange === self.exchange else { return done(false) }
        watch.note(now: context.eventLoop.now)
        if context.channel.isWritable {
            done(true)
        } else {
            sendWaiter = done
        }
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, exchange === self.exchange, !isRequestSent else { return }
        isRequestSent = true
        watch.note(now: context.eventLoop.now)
        if exchange.request.framing == .chunked {
            context.writeAndFlush(wrapOutboundOut(HTTP1RequestWriter.lastChunk), promise: nil)
        }
    }

    func resumeReading(_ exchange: Exchange) {
        guard let context, exchange === self.exchange, isStalled else { return }
        isStalled = false
        watch.note(now: context.eventLoop.now)
        readOn()
    }

    /// Asks for the read that was held while the caller had enough to chew on.
    private func readOn() {
        guard let context, !isStalled, hasHeldRead else { return }
        hasHeldRead = false
        context.read()
    }

    func abandon(_ exchange: Exchange) {
        guard exchange === self.exchange else { return }
        closeNow()
    }

    func closeNow() {
        keepAlive = false
        context?.closeTransport()
    }

    func drain() {
        keepAlive = false
        if exchange == nil { closeNow() }
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch.rest(now: context.eventLoop.now, keep: max(keepIdle, ActivityWatch.firstRest))
        armTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        bursts.stop()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let exchange else { return closeNow() }
        let bytes = unwrapInboundIn(data)
        let count = bytes.readableBytes
        parser.feed(isSecured ? bytes.detached() : bytes)
        let now = context.eventLoop.now
        readTime = now
        watch.note(now: now)
        do {
            while pendingEnd == nil, let event = try parser.next() {
                try take(event, now: now)
            }
        } catch {
            pendingEnd = .failure(error)
            keepAlive = false
        }
        bursts.received(count, rest: restOfBody(of: exchange), now: now, context)
        if pendingEnd != nil { deliver() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        deliver()
        readTime = nil
    }

    /// The channel asks for the next read; it is held while the caller has enough to chew on.
    func read(context: ChannelHandlerContext) {
        if isStalled {
            hasHeldRead = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // What was sent moves on, its end included.
            watch.note(now: context.eventLoop.now)
            sendBody(context)
            sendWaiter.take()?(true)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        if exchange != nil, pendingEnd == nil {
            do {
                if case .end(let trailers)? = try parser.finishAtClose() { pendingEnd = .success(trailers) }
            } catch {
                let isLoss = error.code == .connectionLost && !hasReadResponse
                pendingEnd = .failure(isLoss ? .lostBeforeResponse(error.message) : error)
            }
        }
        keepAlive = false
        deliver()
        timer?.cancel()
        notify(.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if exchange == nil { loss = error }
        if exchange != nil, pendingEnd == nil {
            var broken = DirectHTTPError.broken(error)
            broken.isBeforeResponse = !hasReadResponse
            pendingEnd = .failure(broken)
        }
        keepAlive = false
        deliver()
        closeNow()
    }

    // MARK: Inside

    /// What is still to come of a body that may be read in bursts: a reader who wants little in advance is given little.
    private func restOfBody(of exchange: Exchange) -> Int64? {
        BurstReading.fits(exchange.limits.bufferedBytes) ? parser.restOfBody : nil
    }

    private func take(_ event: HTTP1ResponseParser.Event, now: NIODeadline) throws(DirectHTTPError) {
        hasReadResponse = true
        switch event {
        case .informational(let response):
            if response.status == .continue { exchange?.gate?.open() }
            informationalCount += 1
            guard informationalCount <= Self.maximumInformational else {
                throw .malformed("more than \(Self.maximumInformational) informational responses")
            }
        case .head(let response, let keepAlive):
            let status = response.status.code
            guard status != 101 else {
                throw .malformed("it switches protocols although nobody asked")
            }
            // Who refuses may have read nothing of the body, and not every server, squid for one, reads the rest of it before
            // the next request.
            self.keepAlive = keepAlive && !(hasLongBody && status >= 400)
            if exchange?.gate?.refuse() == true { isBodyRefused = true }
            pendingHead = Shared(
                Exchange.ExchangeHead(response: response, isOld: parser.minorVersion == 0, firstByte: now)
            )
        case .body(let piece):
            pendingPieces.append(piece)
        case .end(let trailers):
            pendingEnd = .success(trailers)
        }
    }

    private func deliver() {
        guard let exchange, pendingHead != nil || !pendingPieces.isEmpty || pendingEnd != nil else { return }
        let now = readTime ?? context?.eventLoop.now ?? .now()
        guard let end = pendingEnd else {
            isStalled = !exchange.deliver(head: pendingHead, pieces: pendingPieces, end: nil, now: now, wakes: wakes)
            clearPending()
            return readOn()
        }
        self.exchange = nil
        isStalled = false
        let waiter = sendWaiter.take()
        unsentBody = nil
        // The connection is given back before its caller hears of the end, so that the caller's next request finds it.
        if keepAlive, isRequestSent, !parser.hasUnexplainedBytes {
            becomeIdle(now)
        } else {
            closeNow()
        }
        _ = exchange.deliver(head: pendingHead, pieces: pendingPieces, end: end, now: now, wakes: wakes)
        clearPending()
        // The response first: it may have come before the body was sent.
        waiter?(false)
    }

    private func clearPending() {
        pendingHead = nil
        pendingPieces.removeAll(keepingCapacity: true)
        pendingEnd = nil
    }

    private func becomeIdle(_ now: NIODeadline) {
        guard let context else { return }
        rest(now, context)
        readOn()
        notify(.free(now))
    }

    // MARK: Time

    private func rest(_ now: NIODeadline, _ context: ChannelHandlerContext) {
        watch.rest(now: now, keep: keepIdle)
        armTimer(context)
    }

    /// One timer serves the connection for its life: it is moved only where something falls due earlier than it fires.
    private func armTimer(_ context: ChannelHandlerContext) {
        guard let due = watch.due, watch.scheduled.map({ due < $0 }) ?? true else { return }
        timer?.cancel()
        watch.scheduled = due
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        watch.scheduled = nil
        guard let context else { return }
        // Whose body has no next piece yet waits for himself.
        let waitsForBody =
            exchange != nil && !isRequestSent && unsentBody == nil && sendWaiter == nil && !isBodyRefused
        switch watch.check(now: context.eventLoop.now, isStalled: isStalled || waitsForBody) {
        case .wait:
            armTimer(context)
        case .restedEnough:
            closeNow()
        case .silent(let limit):
            end(with: .silent(for: limit))
        case .late:
            end(with: .late)
        }
    }

    private func end(with error: DirectHTTPError) {
        keepAlive = false
        pendingEnd = .failure(error)
        deliver()
    }
}
