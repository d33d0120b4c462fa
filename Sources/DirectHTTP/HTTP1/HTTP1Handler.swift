// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

/// The last handler of an HTTP/1.1 connection. It writes requests, parses responses and delivers them to the current exchange.
/// All methods run on the connection's event loop.
///
/// `HTTP1Handler+Sending.swift` sends bodies, and `HTTP1Handler+Time.swift` has the time limits.
final class HTTP1Handler: ChannelDuplexHandler, ConnectionHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// Whether requests go to a proxy that forwards them.
    private let isForwarded: Bool
    private let keepIdle: TimeAmount
    private let isSecured: Bool
    private let wakes: WakeQueue
    private let notify: (ConnectionNotice) -> Void
    private var reader: HTTP1ResponseReader
    private(set) var context: ChannelHandlerContext?

    private(set) var exchange: Exchange?
    /// The buffer for request heads, reused between requests.
    private var head = ByteBuffer()
    /// The body of the current request.
    var upload = HTTP1Upload()
    private var isRequestHTTP10 = false
    private var keepAlive = true
    private var hasReadResponse = false
    /// The parsed parts of the response since the last delivery.
    private var pendingHead: Shared<Exchange.ExchangeHead>?
    private var pendingPieces: [ByteBuffer] = []
    private var pendingEnd: Result<HTTPFields?, DirectHTTPError>?
    /// Whether the server may read the rest of the body after its response: it accepted, and keeps the connection.
    private var mayReadBody = false
    /// Whether ``pendingEnd`` waits until the whole request is written, because the response was complete before.
    private(set) var isEndHeld = false
    /// The time of the read that is being processed. Cached because reading the clock costs more than most of that work.
    private var readTime: NIODeadline?
    /// The error that closed the connection while it had no exchange.
    private var loss: (any Error)?
    /// Whether the peer ended its output. Recorded without TLS only, because TLS reports a missing end as an error.
    private var isInputEnded = false
    private var isClosing = false
    private(set) var isStalled = false
    private var hasHeldRead = false
    var sendWaiter: ((Bool) -> Void)?
    var watch = ActivityWatch()
    /// When the connection closes if it has no exchange until then.
    private(set) var restEnd = NIODeadline.uptimeNanoseconds(0)
    var timer: Scheduled<Void>?
    var timerDue: NIODeadline?
    private let bursts = SocketBursts()
    var progress: SendProgress

    init(
        _ configuration: EngineConfiguration,
        isForwarded: Bool,
        isSecured: Bool,
        wakes: WakeQueue,
        progress: SendProgress = SendProgress(),
        notify: @escaping (ConnectionNotice) -> Void
    ) {
        self.progress = progress
        self.isForwarded = isForwarded
        keepIdle = TimeAmount(limit: configuration.keepIdle)
        self.isSecured = isSecured
        self.wakes = wakes
        self.notify = notify
        reader = HTTP1ResponseReader(limits: configuration.headLimits)
    }

    // MARK: Exchanges

    func start(_ exchange: Exchange, now: NIODeadline) {
        guard !exchange.isOver else { return becomeIdle(now) }
        guard let context, context.channel.isActive, self.exchange == nil else {
            // Nothing of the request was sent, so a request of any method may be retried.
            let error =
                loss.map(DirectHTTPError.broken)
                ?? DirectHTTPError(.connectionLost, "the server closed the connection before the request")
            return exchange.fail(error.with(\.isUnprocessed))
        }
        self.exchange = exchange
        let request = exchange.request
        // RFC 9112 §9.6: after `Connection: close`, no further request may be sent.
        keepAlive = !request.options.sendsHTTP10 && !request.options.hasConnectionOption("close")
        isRequestHTTP10 =
            request.options.sendsHTTP10
            || request.options.followsHTTP10 && reader.minorVersion == 0 && request.framing != .chunked
                && !request.expectsContinue
        hasReadResponse = false
        upload = HTTP1Upload(request, isForwarded: isForwarded)
        reader.expect(
            method: request.method,
            ignoresLength: request.options.ignoresContentLength,
            keepsTransferCoding: request.options.keepsTransferCoding
        )
        progress.markDelivered(on: context.channel)
        // If the socket or TLS has released the last head, clearing the buffer reuses its memory.
        head.clear()
        HTTP1RequestWriter.write(request, isForwarded: isForwarded, isHTTP10: isRequestHTTP10, into: &head)
        if upload.isInMemory {
            progress.wrote(head.readableBytes)
            context.write(wrapOutboundOut(head), promise: nil)
            startWatch(of: exchange, now: now, context: context)
            return sendBody(context)
        }
        if case .bytes(let bytes) = request.body.storage { head.writeImmutableBuffer(bytes) }
        writeAndFlush(head, context)
        startWatch(of: exchange, now: now, context: context)
    }

    private func startWatch(of exchange: Exchange, now: NIODeadline, context: ChannelHandlerContext) {
        watch.begin(now: now, idle: exchange.limits.idle, deadline: exchange.limits.deadline)
        armTimer(context)
    }

    func resumeReading(_ exchange: Exchange) {
        guard let context, exchange === self.exchange, isStalled else { return }
        isStalled = false
        watch.recordActivity(now: context.eventLoop.now)
        readOn()
    }

    /// Issues the read that was held while the caller had enough unread data.
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
        isClosing = true
        context?.channel.closeWithAlert()
    }

    func drain() {
        keepAlive = false
        if exchange == nil { closeNow() }
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // Otherwise NIO closes the socket in the same way when the peer ends its output and after a failed write.
        if !isSecured { try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
        restEnd = context.eventLoop.now + max(keepIdle, Self.firstRest)
        armTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        bursts.stop()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let exchange else { return closeNow() }
        if isEndHeld {
            // Bytes after the response, which belong to no request.
            keepAlive = false
            return releaseEnd()
        }
        let bytes = unwrapInboundIn(data)
        let count = bytes.readableBytes
        reader.feed(isSecured ? bytes.detached() : bytes)
        let now = context.eventLoop.now
        readTime = now
        watch.recordActivity(now: now)
        do throws(HTTP1Error) {
            while pendingEnd == nil, let event = try reader.next() {
                try take(event, now: now)
            }
        } catch {
            reportBrokenHead()
            pendingEnd = .failure(.unreadable(error))
            keepAlive = false
        }
        let fits = BurstReading.fits(exchange.limits.bufferedBytes)
        bursts.received(count, rest: fits ? reader.restOfBody : nil, now: now, context)
        if pendingEnd != nil { deliver() }
        endOnceWritten(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        deliver()
        readTime = nil
    }

    /// Forwards the channel's request for the next read, or holds it while the caller has enough unread data.
    func read(context: ChannelHandlerContext) {
        if isStalled {
            hasHeldRead = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // Progress of the upload counts as activity.
            watch.recordActivity(now: context.eventLoop.now)
            sendBody(context)
            sendWaiter.take()?(true)
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            isInputEnded = true
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        failIfClosing()
        if exchange != nil, pendingEnd == nil {
            // NIO reports no error when it closes the socket after a failed write. Only the peer ends a body without a length.
            do throws(HTTP1Error) {
                if case .end(let trailers, _)? = try reader.finishAtClose(isOrderly: isSecured || isInputEnded) {
                    pendingEnd = .success(trailers)
                }
            } catch {
                reportBrokenHead()
                var failure = DirectHTTPError.unreadable(error)
                failure.isBeforeResponse = failure.code == .connectionLost && !hasReadResponse
                pendingEnd = .failure(failure)
            }
        }
        keepAlive = false
        releaseEnd()
        timer?.cancel()
        notify(.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if exchange == nil { loss = error }
        failIfClosing()
        // If the peer ended the connection, it does not want the rest of the body, and its response is valid.
        if exchange != nil, pendingEnd == nil || (isEndHeld && !DirectHTTPError.isFromPeer(error)) {
            var broken = DirectHTTPError.broken(error)
            broken.isBeforeResponse = !hasReadResponse
            pendingEnd = .failure(broken)
        }
        keepAlive = false
        releaseEnd()
        closeNow()
    }

    /// Fails an incomplete exchange if this side has closed the connection. TLS reports that as a close by the peer.
    private func failIfClosing() {
        guard isClosing, exchange != nil, pendingEnd == nil || isEndHeld else { return }
        var error = DirectHTTPError.closedByClient
        error.isBeforeResponse = !hasReadResponse
        pendingEnd = .failure(error)
        isEndHeld = false
    }

    // MARK: Internals

    private func take(_ event: HTTP1ResponseReader.Event, now: NIODeadline) throws(HTTP1Error) {
        hasReadResponse = true
        switch event {
        case .informational(let response, let raw):
            reportHead(response, raw: raw)
            if response.status == .continue { exchange?.gate?.open() }
        case .head(let response, let raw, let keepAlive):
            reportHead(response, raw: raw)
            let status = response.status.code
            guard status != 101 else { throw .malformed("it switches protocols without being asked") }
            // A server that refuses a request may not have read its body, and some servers, such as squid, do not read the rest
            // of it before the next request. A proxy shares its connections to servers with other clients.
            self.keepAlive = self.keepAlive && keepAlive && !(upload.mayStayUnread && status >= 400)
            mayReadBody = keepAlive && status < 300
            if status >= 300 { refuseBody() }
            pendingHead = Shared(
                Exchange.ExchangeHead(
                    response: response,
                    isHTTP10: reader.minorVersion == 0,
                    isRequestHTTP10: isRequestHTTP10,
                    firstByte: now
                )
            )
        case .body(let piece):
            pendingPieces.append(piece)
        case .end(let trailers, let isClear):
            refuseBody()
            if !isClear { keepAlive = false }
            pendingEnd = .success(trailers)
            isEndHeld = isClear && mayReadBody && !isRequestWritten
            if isEndHeld { exchange?.markOnlyUploading() }
        }
    }

    /// Does not send a body that still waits for 100 Continue.
    private func refuseBody() {
        guard exchange?.gate?.refuse() == true else { return }
        upload.isRefused = true
        mayReadBody = false
    }

    /// Whether the socket has taken the whole request. Assumed of a small body, which is written together with the head.
    private var isRequestWritten: Bool {
        upload.isSent && (!upload.mayStayUnread || (context?.channel.unwrittenBytes ?? 0) == 0)
    }

    private func reportHead(_ response: HTTPResponse, raw: ByteBuffer) {
        guard let exchange, let onHead = exchange.request.onHead, !exchange.isOver else { return }
        onHead(ReceivedHead(response, raw: raw))
    }

    private func reportBrokenHead() {
        guard let exchange, let onBrokenHead = exchange.request.options.onBrokenHead, !exchange.isOver,
            let lines = reader.brokenHead, lines.readableBytes > 0
        else { return }
        onBrokenHead(ByteBuffer(bytes: lines.readableBytesView))
    }

    /// Ends the exchange if its response is complete, without waiting for the rest of the request.
    func releaseEnd() {
        isEndHeld = false
        deliver()
    }

    private func deliver() {
        let readyEnd = isEndHeld ? nil : pendingEnd
        guard let exchange, pendingHead != nil || !pendingPieces.isEmpty || readyEnd != nil else { return }
        let now = readTime ?? context?.eventLoop.now ?? .now()
        guard let end = readyEnd else {
            isStalled = !exchange.deliver(head: pendingHead, pieces: pendingPieces, end: nil, now: now, wakes: wakes)
            clearPending()
            return readOn()
        }
        self.exchange = nil
        isStalled = false
        let waiter = sendWaiter.take()
        upload.discard()
        // Release the connection before the caller sees the end, so that the caller's next request can reuse it.
        if keepAlive, upload.isSent {
            becomeIdle(now)
        } else {
            closeNow()
        }
        _ = exchange.deliver(head: pendingHead, pieces: pendingPieces, end: end, now: now, wakes: wakes)
        clearPending()
        // Deliver the response first: it may have arrived before the body was sent.
        waiter?(false)
    }

    private func clearPending() {
        pendingHead = nil
        // A read of tiny chunks may have thousands of pieces, whose list must not stay in memory.
        pendingPieces.removeAll(keepingCapacity: pendingPieces.count <= 64)
        if !isEndHeld { pendingEnd = nil }
    }

    private func becomeIdle(_ now: NIODeadline) {
        guard let context else { return }
        restEnd = now + keepIdle
        armTimer(context)
        readOn()
        notify(.free(now))
    }

    func end(with error: DirectHTTPError) {
        keepAlive = false
        pendingEnd = .failure(error)
        releaseEnd()
    }
}
