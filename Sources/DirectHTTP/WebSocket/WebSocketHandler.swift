// SPDX-License-Identifier: Apache-2.0

import DequeModule
import HTTPWire
import NIOCore

/// The last handler of an open WebSocket. It handles frames, PING, the close handshake and its timeout. All methods run on the
/// event loop. `WebSocketHandler+Ending.swift` ends the socket.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// The maximum number of own PINGs without an answer.
    static let maxPings = 64
    /// The maximum number of the peer's PINGs that wait for an answer. Earlier ones get none, so that a flood costs little.
    static let maxPongs = 64
    /// The maximum time the server may take to close TCP after both close frames were sent.
    static let closeGrace = TimeAmount.milliseconds(500)
    /// How often ``WebSocketSettings/closeTimeout`` starts again while messages before our close frame still reach the peer.
    static let maxCloseExtensions = 15

    let settings: WebSocketSettings
    let inbox: WebSocketInbox
    let ended: () -> Void
    private let deflate: WebSocketDeflate?
    var progress: SendProgress
    private var decoder: WebSocketFrameDecoder
    private var assembler: WebSocketAssembler
    private var random = SystemRandomNumberGenerator()
    private(set) var context: ChannelHandlerContext?
    /// Whether the inbox is full. Frames then stay in the decoder, and the socket is not read.
    private(set) var isStalled = false
    private var hasHeldRead = false
    private(set) var hasSentClose = false
    /// Whether incoming frames are ignored.
    var isDone = false
    /// Whether a message did not fit in the inbox after our close frame was sent. Later messages are then dropped too.
    private var dropsMessages = false
    var isGone = false
    /// The end of the socket, if frames still wait for the reader. It is reported after their messages.
    var delayedEnd: Result<Void, DirectHTTPError>?
    var pings: [UInt64: OneShot<Void>] = [:]
    private var nextPing: UInt64 = 0
    var closeTimer: Scheduled<Void>?
    /// How often the close timer was restarted because bytes still reached the peer.
    var closeExtensions = 0
    /// The bytes that were written before our close frame.
    private(set) var closeMark: Int64 = 0
    var silenceTimer: Scheduled<Void>?
    var liveness: PeerLiveness
    /// The payloads of the last PINGs without an answer, at most ``maxPongs``. An answer covers earlier PINGs too (RFC 6455 §5.5.3).
    private var unanswered = Deque<ByteBuffer>()
    var outbox: WebSocketOutbox

    /// - Parameter ended: called when the socket is closed and its messages are delivered.
    init(
        settings: WebSocketSettings,
        deflate: WebSocketDeflate.Agreement?,
        inbox: WebSocketInbox,
        progress: SendProgress = SendProgress(),
        ended: @escaping () -> Void
    ) {
        self.progress = progress
        self.settings = settings
        self.inbox = inbox
        self.ended = ended
        self.deflate = deflate.map { WebSocketDeflate($0, maxBytes: settings.messageBound) }
        outbox = WebSocketOutbox(frameBytes: settings.frameBytes)
        decoder = WebSocketFrameDecoder(maxPayload: settings.messageBound, allowsCompression: deflate != nil)
        assembler = WebSocketAssembler(maxBytes: settings.messageBound)
        let interval = settings.pingInterval.flatMap { $0 > .zero ? TimeAmount($0) : nil }
        liveness = PeerLiveness(pingAfter: interval, pingTimeout: interval ?? .zero, now: .uptimeNanoseconds(0))
    }

    // MARK: Calls from the socket's owner

    private static var closed: DirectHTTPError {
        DirectHTTPError(.webSocketClosed, "the WebSocket is closed: open a new one")
    }

    func send(_ message: WebSocketMessage, done: OneShot<Void>) {
        guard let context, !hasSentClose, !isGone else {
            done.resolve(.failure(Self.closed))
            return
        }
        let opcode: WebSocketFrame.Opcode
        var payload: ByteBuffer
        switch message {
        case .text(let text): (opcode, payload) = (.text, ByteBuffer(string: text))
        case .binary(let bytes): (opcode, payload) = (.binary, bytes)
        }
        var isCompressed = false
        if let deflate, payload.readableBytes >= settings.minCompressedBytes, let small = deflate.compress(payload) {
            payload = small
            isCompressed = true
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { result in
            done.resolve(
                result.mapError {
                    DirectHTTPError(.connectionLost, "the message was not sent: \($0)", underlyingError: $0)
                }
            )
        }
        outbox.add(.init(opcode: opcode, isCompressed: isCompressed, payload: payload, written: written))
        sendQueued(context)
    }

    /// Sends frames of the queued messages, as many as the socket accepts.
    ///
    /// - Parameter all: whether to ignore the socket's writability. Used before a close frame, which must come last.
    private func sendQueued(_ context: ChannelHandlerContext, all: Bool = false) {
        while all || context.channel.isWritable, let (frame, written) = outbox.nextFrame() {
            write(frame, context, promise: written)
        }
    }

    func ping(_ answered: OneShot<Void>) {
        guard let context, !hasSentClose, !isGone else {
            answered.resolve(.failure(Self.closed))
            return
        }
        guard pings.count < Self.maxPings else {
            answered.resolve(.failure(DirectHTTPError(.idleTimeout, "\(pings.count) PINGs were not answered")))
            return
        }
        nextPing += 1
        pings[nextPing] = answered
        write(WebSocketFrame(opcode: .ping, payload: ByteBuffer(integer: nextPing)), context)
    }

    /// Starts the close handshake. The socket is closed when the peer answers or the timeout ends.
    func close(_ closure: WebSocketClosure) {
        guard let context else { return }
        sendClose(closure, context)
        if inbox.closure != nil { return closeNow() }
        // The peer's close frame may be among the frames that wait for the reader.
        takeFrames()
    }

    func closeNow() { context?.channel.closeWithAlert() }

    /// Closes the socket after its last reference is released; its messages can no longer be read.
    func drop() {
        isDone = true
        finishDelayed()
        closeNow()
    }

    func resumeReading() {
        guard isStalled else { return }
        isStalled = false
        if let context { liveness.recordReceived(now: context.eventLoop.now) }
        takeFrames()
        guard let context, !isStalled, hasHeldRead else { return }
        hasHeldRead = false
        context.read()
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        liveness.recordReceived(now: context.eventLoop.now)
        armSilence(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        failQueued(ChannelError.ioOnClosedChannel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        liveness.recordReceived(now: context.eventLoop.now)
        // Ignore data after a close frame (RFC 6455 §5.5.1).
        guard !isDone else { return }
        decoder.feed(unwrapInboundIn(data).detached())
        takeFrames()
    }

    func read(context: ChannelHandlerContext) {
        if isStalled, !hasSentClose {
            hasHeldRead = true
        } else {
            context.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // The peer accepts data, although it may send nothing until a message is complete.
            liveness.recordReceived(now: context.eventLoop.now)
            answerPings(context)
            sendQueued(context)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(DirectHTTPError(.connectionLost, "the server closed the connection without a close frame"))
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ShutDownEvent else { return context.fireUserInboundEventTriggered(event) }
        isDone = true
        let message = "the WebSocket was closed, because its client was shut down"
        inbox.finish(.failure(DirectHTTPError(.shutDown, message)))
        closeNow()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.broken(error))
        closeNow()
    }

    // MARK: Internals

    /// Takes frames until the inbox is full. Decompression can enlarge a frame a thousand times, so later frames stay compressed
    /// in the decoder until the reader catches up.
    private func takeFrames() {
        do {
            while !isDone, !isStalled || hasSentClose, let frame = try decoder.next() {
                if let event = try assembler.take(frame) { try take(event) }
            }
        } catch {
            fail(error)
        }
        if let context { answerPings(context) }
        if isDone || !isStalled || hasSentClose { finishDelayed() }
    }

    /// Answers the PINGs that were read together. While the peer does not read, no PONG is queued.
    private func answerPings(_ context: ChannelHandlerContext) {
        guard !unanswered.isEmpty, !hasSentClose, !isGone else { return }
        while !isGone, context.channel.isWritable, let payload = unanswered.popFirst() {
            write(WebSocketFrame(opcode: .pong, payload: payload), context, flushes: false)
        }
        context.flush()
    }

    private func take(_ event: WebSocketAssembler.Event) throws(WebSocketViolation) {
        switch event {
        case .message(let isText, let coded, let isCompressed):
            // After our close frame, frames are read until the peer's close frame arrives, even if the reader is slow.
            if isStalled { dropsMessages = true }
            guard !dropsMessages else { return }
            var bytes = coded
            if isCompressed, let deflate { bytes = try deflate.decompress(coded) }
            let message = isText ? WebSocketMessage.text(try WebSocketAssembler.text(bytes)) : .binary(bytes)
            if !inbox.put(message) { isStalled = true }
        case .ping(let payload):
            if unanswered.count == Self.maxPongs { unanswered.removeFirst() }
            unanswered.append(payload.compacted())
        case .pong(var payload):
            guard let number = payload.readInteger(as: UInt64.self), payload.readableBytes == 0, number <= nextPing
            else { return }
            // A peer may answer only the last of several PINGs (RFC 6455 §5.5.3). It has received the earlier ones too.
            for earlier in pings.keys where earlier <= number {
                pings.removeValue(forKey: earlier)?.resolve(.success(()))
            }
        case .close(let closure):
            isDone = true
            inbox.closure = closure
            inbox.finish(.success(()))
            guard let context, !isGone else { return }
            sendClose(WebSocketClosure(code: closure.code), context)
            // The server should close TCP first (RFC 6455 §7.1.1). Do not wait longer than this.
            armClose(min(TimeAmount(limit: settings.closeTimeout), Self.closeGrace), context)
        }
    }

    func sendClose(_ closure: WebSocketClosure, _ context: ChannelHandlerContext) {
        guard !hasSentClose else { return }
        answerPings(context)
        hasSentClose = true
        sendQueued(context, all: true)
        progress.update(from: context.channel, now: context.eventLoop.now)
        closeMark = progress.written
        write(WebSocketFrame(opcode: .close, payload: closure.payload), context)
        armClose(TimeAmount(limit: settings.closeTimeout), context)
        // The peer's close frame must be read even if the reader is slow.
        if hasHeldRead {
            hasHeldRead = false
            context.read()
        }
    }

    func write(
        _ frame: WebSocketFrame,
        _ context: ChannelHandlerContext,
        promise: EventLoopPromise<Void>? = nil,
        flushes: Bool = true
    ) {
        let bytes = frame.encoded(mask: random.next())
        progress.wrote(bytes.readableBytes)
        if flushes {
            context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
        } else {
            context.write(wrapOutboundOut(bytes), promise: promise)
        }
    }
}
