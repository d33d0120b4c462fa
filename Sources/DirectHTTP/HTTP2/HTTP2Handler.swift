// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HTTPTypes
import NIOCore

/// The last handler of an HTTP/2 connection (RFC 9113): it reads and writes frames and carries many exchanges, a stream
/// each. A stream is a value in a table, not a channel. Everything here runs on the connection's event loop.
///
/// What it does with frames is in `HTTP2Handler+Reading.swift`, how bodies and frames leave in `HTTP2Handler+Sending.swift`, how
/// streams end in `HTTP2Handler+Ending.swift`, and what falls due in `HTTP2Handler+Time.swift`.
final class HTTP2Handler: ChannelDuplexHandler, ConnectionHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// What we may have unread of the whole connection. One stream begins with ``streamWindow``.
    static let connectionWindow = 16 << 20
    /// How many exchanges are begun before the peer has said how many it takes (RFC 9113 §6.5.2 recommends at least 100).
    static let presumedCapacity = 100

    /// The largest number of a stream of ours (RFC 9113 §5.1.1).
    static let lastID = UInt32(Int32.max)

    let streamWindow: Int
    let keepIdle: TimeAmount
    let wakes: WakeQueue
    let notify: (ConnectionNotice) -> Void
    private(set) var context: ChannelHandlerContext?

    var streams: [UInt32: HTTP2Stream] = [:]
    var ids: [ObjectIdentifier: UInt32] = [:]
    var nextID: UInt32 = 1
    var isDraining = false
    var hasSaidGoAway = false
    /// What the peer did that ended the connection: it may have done so before the first exchange came.
    var ruin: DirectHTTPError?

    // MARK: Reading

    var reader: HTTP2FrameReader
    var headers: HTTP2HeaderReader
    var guardian = HTTP2FloodGuard()
    /// Streams with something to hand over at the end of this read.
    var touched: [HTTP2Stream] = []
    var isReading = false
    /// The time of the read whose streams are still to hear of it: looking at the clock costs more than most of what is done then.
    private var readTime: NIODeadline?
    var now: NIODeadline { readTime ?? context?.eventLoop.now ?? .now() }
    /// What the peer may send on all streams together, and what of it was received and not yet allowed again.
    var receiveWindow = connectionWindow
    var uncredited = 0
    private let bursts = SocketBursts()

    // MARK: Sending

    var encoder = HPACKEncoder()
    /// The frames of this turn of the loop, written at its end.
    var out = ByteBuffer()
    private var block = ByteBuffer()
    var isFlushPlanned = false
    /// Answers to SETTINGS and PING since the socket last had room.
    var repliesInWait = 0
    var sendWindow = HTTP2Frame.defaultWindow
    var initialSendWindow = HTTP2Frame.defaultWindow
    var maximumFrame = HTTP2Frame.defaultMaximumLength
    /// Streams that have something to send and a window for it, each in its turn.
    var sending = Deque<HTTP2Stream>()

    // MARK: Time

    var liveness: HTTP2Liveness
    var rest = ActivityWatch()
    var timer: Scheduled<Void>?
    var timerDue: NIODeadline?

    /// - Parameter now: the event loop's time.
    init(
        streamWindow: Int,
        limits: HTTP1ResponseParser.Limits,
        keepIdle: TimeAmount,
        silence: TimeAmount?,
        patience: TimeAmount,
        now: NIODeadline,
        wakes: WakeQueue,
        notify: @escaping (ConnectionNotice) -> Void
    ) {
        self.streamWindow = min(streamWindow, HTTP2Frame.maximumWindow)
        self.keepIdle = keepIdle
        self.wakes = wakes
        self.notify = notify
        reader = HTTP2FrameReader(maximumBlock: limits.headBytes)
        headers = HTTP2HeaderReader(
            maximumListSize: limits.headBytes + 32 * limits.fieldCount,
            maximumFields: limits.fieldCount
        )
        liveness = HTTP2Liveness(silence: silence, patience: patience, now: now)
    }

    // MARK: Exchanges

    func start(_ exchange: Exchange, now: NIODeadline) {
        guard !exchange.isOver else { return notify(.free(now)) }
        guard let context, context.channel.isActive, !isDraining, nextID <= Self.lastID else {
            notify(.free(now))
            var error = ruin ?? .unprocessed("the connection takes no further request")
            error.isBeforeResponse = true
            error.isUnprocessed = true
            return exchange.fail(error)
        }
        let stream = HTTP2Stream(
            id: nextID,
            exchange: exchange,
            sendWindow: initialSendWindow,
            receiveWindow: streamWindow
        )
        nextID += 2
        streams[stream.id] = stream
        ids[ObjectIdentifier(exchange)] = stream.id
        block.clear()
        HTTP2Headers.write(exchange.request, with: &encoder, into: &block)
        stream.isRequestSent = stream.isBodyWhole && stream.unsent.isEmpty
        out.writeHeaderBlock(
            &block,
            stream: stream.id,
            endStream: stream.isRequestSent,
            maximumLength: maximumFrame
        )
        queue(stream)
        sendQueued(context)
        check(now, context)
        planFlush(context)
        stream.watch.begin(now: now, idle: exchange.limits.idle, deadline: exchange.limits.deadline)
        arm(stream.watch.due, context)
        arm(liveness.due, context)
        // The pool must not lend a connection whose numbers have run out.
        if nextID > Self.lastID { drain() }
    }

    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void) {
        guard let context, let stream = stream(of: exchange), !stream.isBodyWhole else { return done(false) }
        guard piece.readableBytes > 0 else { return done(true) }
        stream.append(piece)
        queue(stream)
        sendQueued(context)
        planFlush(context)
        // A write may have failed at once, and the stream with it: then there is no one left to resume a waiter.
        guard streams[stream.id] != nil else { return done(false) }
        if stream.unsentBytes < HTTP2Stream.maximumUnsent {
            done(true)
        } else {
            stream.sendWaiter = done
        }
    }

    func finishSending(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange), !stream.isBodyWhole else { return }
        stream.isBodyWhole = true
        queue(stream)
        sendQueued(context)
        planFlush(context)
    }

    func resumeReading(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        stream.isStalled = false
        stream.watch.note(now: context.eventLoop.now)
        credit(stream)
        planFlush(context)
    }

    func abandon(_ exchange: Exchange) {
        guard let context, let stream = stream(of: exchange) else { return }
        out.writeReset(.cancel, stream: stream.id)
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
            if !hasSaidGoAway { out.writeGoAway(.noError) }
            hasSaidGoAway = true
            flush(context)
        }
        context.closeTransport()
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        out.writeStaticString(HTTP2Frame.preface)
        out.writeSettings([
            (.enablePush, 0), (.initialWindowSize, streamWindow),
            (.maximumHeaderListSize, headers.maximumListSize),
        ])
        out.writeWindowUpdate(Self.connectionWindow - HTTP2Frame.defaultWindow)
        flush(context)
        rest.rest(now: now, keep: max(keepIdle, ActivityWatch.firstRest))
        arm(rest.due, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        bursts.stop()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        let now = context.eventLoop.now
        readTime = now
        liveness.hear(now: now)
        let bytes = unwrapInboundIn(data)
        let count = bytes.readableBytes
        // ALPN has agreed on HTTP/2: this comes out of TLS.
        reader.feed(bytes.detached())
        do throws(HTTP2ConnectionError) {
            while let event = try reader.next() { try take(event, now: now) }
        } catch {
            return fail(with: error)
        }
        bursts.received(count, rest: restOfBodies, now: now, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        deliverTouched()
        readTime = nil
        creditConnection()
        sendQueued(context)
        flush(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // The peer has taken what was sent: a server may say nothing else until an upload is whole.
            liveness.hear(now: context.eventLoop.now)
            sendQueued(context)
            planFlush(context)
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        ruin = ruin ?? .broken(error)
        failAll(.broken(error))
        closeNow()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deliverTouched()
        failAll(DirectHTTPError(.connectionLost, "the server closed the connection"))
        timer?.cancel()
        notify(.closed)
        context.fireChannelInactive()
    }

    // MARK: Streams

    private func stream(of exchange: Exchange) -> HTTP2Stream? {
        ids[ObjectIdentifier(exchange)].flatMap { streams[$0] }
    }

    /// What is still to come of the one body that is read; nil where others must not wait for it.
    private var restOfBodies: Int64? {
        guard streams.count == 1, BurstReading.fits(streamWindow) else { return nil }
        return streams.first?.value.restOfBody
    }

    func limit(streams capacity: Int) { notify(.capacity(capacity)) }
}
