// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HTTPTypes
import HTTPWire
import NIOCore

/// The last handler of a client's HTTP/2 connection. It drives ``HTTP2Connection`` and carries many exchanges, one per stream.
/// All methods run on the connection's event loop.
///
/// Events are handled in `HTTP2Handler+Reading.swift`, bodies and frames are sent in `HTTP2Handler+Sending.swift`, streams end in
/// `HTTP2Handler+Ending.swift`, and the timer is in `HTTP2Handler+Time.swift`.
final class HTTP2Handler: ChannelDuplexHandler, ConnectionHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// The receive window of the connection, in bytes. A stream starts with the configured stream window.
    static let connectionWindow = 16 << 20
    /// The assumed limit of concurrent streams until the peer's SETTINGS arrive (RFC 9113 §6.5.2 recommends at least 100).
    static let presumedCapacity = 100

    let keepIdle: TimeAmount
    let wakes: WakeQueue
    let notify: (ConnectionNotice) -> Void
    private(set) var context: ChannelHandlerContext?

    var connection: HTTP2Connection
    var streams: [UInt32: HTTP2Stream] = [:]
    var ids: [ObjectIdentifier: UInt32] = [:]
    private(set) var isDraining = false
    var hasSaidGoAway = false
    /// The error of the server's GOAWAY, which tells why the server then closes the connection; nil without an error.
    var goAwayError: HTTP2ErrorCode?
    /// The error that ended the connection. It may be set before the first exchange starts.
    var connectionError: DirectHTTPError?

    // MARK: Reading

    /// The streams with data to deliver at the end of this read.
    var touched: [HTTP2Stream] = []
    /// The time of the current read; nil outside of one. Cached because reading the clock costs more than most of the work of a
    /// delivery.
    private(set) var readTime: NIODeadline?
    var now: NIODeadline { readTime ?? context?.eventLoop.now ?? .now() }
    private let bursts = SocketBursts()

    // MARK: Sending

    private var block = ByteBuffer()
    var isFlushPlanned = false
    var progress: SendProgress

    // MARK: Time

    var liveness: PeerLiveness
    /// When the connection closes if it has no stream until then.
    var restEnd = NIODeadline.uptimeNanoseconds(0)
    var timer: Scheduled<Void>?
    var timerDue: NIODeadline?

    init(
        _ configuration: EngineConfiguration,
        now: NIODeadline,
        wakes: WakeQueue,
        progress: SendProgress = SendProgress(),
        notify: @escaping (ConnectionNotice) -> Void
    ) {
        self.progress = progress
        let limits = configuration.headLimits
        var rules = HTTP2Connection.Limits()
        rules.streamWindow = min(max(HTTP2Frame.defaultWindow, configuration.bufferedBodyBytes), HTTP2Frame.maxWindow)
        rules.connectionWindow = Self.connectionWindow
        rules.listSize = limits.headBytes + 32 * limits.fieldCount
        rules.block = rules.listSize
        rules.fields = limits.fieldCount
        connection = HTTP2Connection(role: .client, limits: rules)
        keepIdle = TimeAmount(limit: configuration.keepIdle)
        self.wakes = wakes
        self.notify = notify
        liveness = PeerLiveness(
            pingAfter: configuration.pingAfter.map { TimeAmount(limit: $0) },
            pingTimeout: TimeAmount(limit: configuration.pingTimeout),
            now: now
        )
    }

    // MARK: Exchanges

    func start(_ exchange: Exchange, now: NIODeadline) {
        guard !exchange.isOver else { return notify(.free(now)) }
        // A connection found dead before anything is sent has not processed the request.
        guard let context, context.channel.isActive, !isDraining, connection.nextID <= HTTP2Connection.lastID,
            check(now, context)
        else {
            notify(.free(now))
            let error = connectionError ?? .unprocessed("the connection accepts no further requests")
            return exchange.fail(error.with(\.isUnprocessed))
        }
        let request = exchange.request
        block.clear()
        HTTP2Headers.write(request, with: &connection.encoder, into: &block)
        var body = ByteBuffer()
        if case .bytes(let bytes) = request.body.storage { body = bytes }
        let isWhole = request.body.isInMemory
        let id = connection.open(
            &block,
            endStream: isWhole && body.readableBytes == 0,
            mayHaveBody: request.method != .head
        )
        if streams.isEmpty { progress.markDelivered(on: context.channel) }
        let stream = HTTP2Stream(id: id, exchange: exchange)
        streams[id] = stream
        stream.sentMark = sentMark
        ids[ObjectIdentifier(exchange)] = id
        if body.readableBytes > 0 { connection.send(body, on: id, isLast: true) }
        sendQueued(context)
        planFlush(context)
        stream.watch.begin(now: now, idle: exchange.limits.idle, deadline: exchange.limits.deadline)
        arm(stream.watch.due, context)
        arm(liveness.due, context)
        // The pool must not use a connection that has no stream IDs left.
        if connection.nextID > HTTP2Connection.lastID { drain() }
    }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        guard let context, let stream = stream(of: exchange), takesBody(stream) else { return done(false) }
        guard piece.readableBytes > 0 else { return done(true) }
        connection.send(piece, on: stream.id, isLast: false)
        sendQueued(context)
        planFlush(context)
        // The write may have failed at once and ended the stream; nothing would resume a waiter then.
        guard streams[stream.id] != nil, let unsent = connection.streams[stream.id]?.unsentBytes else {
            return done(false)
        }
        if unsent < HTTP2Stream.maxUnsent {
            done(true)
        } else {
            stream.sendWaiter = done
        }
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        connection.send(ByteBuffer(), on: stream.id, isLast: true)
        sendQueued(context)
        planFlush(context)
    }

    func resumeReading(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        stream.isStalled = false
        stream.watch.recordActivity(now: context.eventLoop.now)
        credit(stream)
        planFlush(context)
    }

    func abandon(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        connection.reset(stream.id, .cancel)
        planFlush(context)
        remove(stream)
        stream.sendWaiter.take()?(false)
    }

    func drain() {
        guard !isDraining else { return }
        isDraining = true
        notify(.draining)
        if streams.isEmpty { closeNow() }
    }

    func closeNow() {
        guard let context else { return }
        if context.channel.isActive {
            if !hasSaidGoAway { connection.goAway(.noError) }
            hasSaidGoAway = true
            flush(context)
        }
        context.channel.closeWithAlert()
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        flush(context)
        restEnd = now + max(keepIdle, Self.firstRest)
        arm(restEnd, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        bursts.stop()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let now = context.eventLoop.now
        readTime = now
        liveness.recordReceived(now: now)
        let bytes = unwrapInboundIn(data)
        let count = bytes.readableBytes
        // ALPN selected HTTP/2, so these bytes come from TLS and are copied out of its buffer.
        connection.isBlocked = !context.channel.isWritable
        do throws(HTTP2ConnectionError) {
            try connection.feed(bytes.detached())
            try takeEvents(now: now)
        } catch {
            return fail(with: error)
        }
        bursts.received(count, rest: restOfBodies, now: now, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        deliverTouched()
        readTime = nil
        sendQueued(context)
        flush(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // The peer has accepted data. A server may send nothing else until an upload is complete.
            liveness.recordReceived(now: context.eventLoop.now)
            sendQueued(context)
            planFlush(context)
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connectionError = connectionError ?? .broken(error)
        connectionEnded(.broken(error), isByServer: DirectHTTPError.isFromPeer(error))
        closeNow()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deliverTouched()
        connectionEnded(DirectHTTPError(.connectionLost, "the server closed the connection"), isByServer: true)
        timer?.cancel()
        notify(.closed)
        context.fireChannelInactive()
    }

    // MARK: Streams

    private func stream(of exchange: Exchange) -> HTTP2Stream? {
        ids[ObjectIdentifier(exchange)].flatMap { streams[$0] }
    }

    /// Whether the request's body may continue.
    private func takesBody(_ stream: HTTP2Stream) -> Bool { connection.streams[stream.id].map { !$0.isWhole } ?? false }

    /// Whether the response is complete, and the server may still read the request's body.
    func awaitsBody(_ stream: HTTP2Stream) -> Bool {
        guard case .success? = stream.pendingEnd, stream.mayReadBody else { return false }
        return connection.streams[stream.id] != nil || (stream.hasBody && mayBeUnwritten(stream))
    }

    /// Whether the last frame of the request may still wait for the socket: fewer bytes were written behind it than wait.
    /// Later bytes of other streams do not count.
    private func mayBeUnwritten(_ stream: HTTP2Stream) -> Bool {
        progress.written - stream.sentMark < Int64(context?.channel.unwrittenBytes ?? 0)
    }

    /// Whether the request waits for the next piece of its body.
    func waitsForBody(_ stream: HTTP2Stream) -> Bool {
        guard !stream.isBodyRefused, let state = connection.streams[stream.id] else { return false }
        return !state.isWhole && state.unsentBytes == 0
    }

    /// The remaining bytes of the one body being received; nil if there are other streams, which must not wait for a burst.
    private var restOfBodies: Int64? {
        guard streams.count == 1, let id = streams.first?.key else { return nil }
        guard BurstReading.fits(connection.limits.streamWindow) else { return nil }
        return connection.streams[id]?.rest
    }
}
