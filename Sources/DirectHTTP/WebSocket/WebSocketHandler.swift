// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// The last handler of an open WebSocket: frames in and out, PING, the close handshake and its time limit. Everything here runs
/// on the event loop.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// PINGs of ours that may be without an answer.
    static let maximumPings = 64
    /// How long the server may take to close TCP once both close frames were sent.
    static let closeGrace = TimeAmount.milliseconds(500)

    private let settings: WebSocketSettings
    private let inbox: WebSocketInbox
    private let end: WebSocketEnd
    private let ended: () -> Void
    private let deflate: WebSocketDeflate?
    private var decoder: WebSocketFrameDecoder
    private var assembler: WebSocketAssembler
    private var random = SystemRandomNumberGenerator()
    private var context: ChannelHandlerContext?
    /// Whether the inbox is full: frames stay in the decoder, and the socket is not read.
    private var isStalled = false
    private var hasHeldRead = false
    private var hasSentClose = false
    /// Whether no frame is looked at any more.
    private var isDone = false
    /// Whether messages did not fit behind our close frame; those that follow are dropped, too.
    private var dropsMessages = false
    private var isGone = false
    /// How the socket ended while frames waited for the reader, who takes their messages first.
    private var delayedEnd: Result<Void, DirectHTTPError>?
    private var closure: WebSocketClosure?
    private var pings: [UInt64: OneShot<Void>] = [:]
    private var nextPing: UInt64 = 0
    private var closeTimer: Scheduled<Void>?
    private var silenceTimer: Scheduled<Void>?
    private var lastRead = NIODeadline.now()
    private var awaitsPong = false
    /// The last PING that came while the socket took nothing; an answer to it answers those before (RFC 6455 §5.5.3).
    private var unanswered: ByteBuffer?

    /// A message that leaves frame by frame as the socket takes them, so that control frames get between them (RFC 6455 §5.4).
    private struct Outgoing {
        var opcode: WebSocketFrame.Opcode
        var isCompressed: Bool
        var payload: ByteBuffer
        let written: EventLoopPromise<Void>
    }

    private var outgoing = Deque<Outgoing>()

    /// - Parameters:
    ///   - deflate: where compression was agreed.
    ///   - end: told of the peer's close frame, and when the socket is gone.
    ///   - ended: called when the socket is gone.
    init(
        settings: WebSocketSettings,
        deflate: WebSocketDeflate.Agreement?,
        inbox: WebSocketInbox,
        end: WebSocketEnd,
        ended: @escaping () -> Void
    ) {
        self.settings = settings
        self.inbox = inbox
        self.end = end
        self.ended = ended
        self.deflate = deflate.map { WebSocketDeflate($0, maximumBytes: settings.messageBound) }
        decoder = WebSocketFrameDecoder(maximumPayload: settings.messageBound, allowsCompression: deflate != nil)
        assembler = WebSocketAssembler(maximumBytes: settings.messageBound)
    }

    // MARK: The caller's side

    func send(_ message: WebSocketMessage, done: OneShot<Void>) {
        guard let context, !hasSentClose, !isGone else {
            done.resolve(.failure(DirectHTTPError(.webSocketClosed, "the WebSocket is closed: open another")))
            return
        }
        let opcode: WebSocketFrame.Opcode
        var payload: ByteBuffer
        switch message {
        case .text(let text): (opcode, payload) = (.text, ByteBuffer(string: text))
        case .binary(let bytes): (opcode, payload) = (.binary, bytes)
        }
        var isCompressed = false
        if let deflate, payload.readableBytes >= settings.minimumCompressedBytes, let small = deflate.compress(payload)
        {
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
        outgoing.append(Outgoing(opcode: opcode, isCompressed: isCompressed, payload: payload, written: written))
        sendQueued(context)
    }

    /// Sends frames of the messages that wait, as many as the socket takes.
    ///
    /// - Parameter all: whether the socket's room does not count: nothing may leave behind a close frame.
    private func sendQueued(_ context: ChannelHandlerContext, all: Bool = false) {
        let size = max(1, settings.frameBytes)
        while all || context.channel.isWritable, var message = outgoing.popFirst() {
            let length = min(message.payload.readableBytes, size)
            let piece = message.payload.readSlice(length: length) ?? ByteBuffer()
            let isFinal = message.payload.readableBytes == 0
            let frame = WebSocketFrame(
                opcode: message.opcode,
                isFinal: isFinal,
                isCompressed: message.isCompressed,
                payload: piece
            )
            if !isFinal {
                message.opcode = .continuation
                message.isCompressed = false
                outgoing.prepend(message)
            }
            write(frame, context, promise: isFinal ? message.written : nil)
            context.flush()
        }
    }

    /// Fails the messages that did not leave.
    private func failQueued(_ error: any Error) {
        while let message = outgoing.popFirst() { message.written.fail(error) }
    }

    func ping(_ answered: OneShot<Void>) {
        guard let context, !hasSentClose, !isGone else {
            answered.resolve(.failure(DirectHTTPError(.webSocketClosed, "the WebSocket is closed: open another")))
            return
        }
        guard pings.count < Self.maximumPings else {
            answered.resolve(.failure(DirectHTTPError(.idleTimeout, "\(pings.count) PINGs are without an answer")))
            return
        }
        nextPing += 1
        pings[nextPing] = answered
        write(WebSocketFrame(opcode: .ping, payload: ByteBuffer(integer: nextPing)), context)
        context.flush()
    }

    /// Begins the close handshake; the socket is closed when the peer has answered, or when the time for that is over.
    func close(_ closure: WebSocketClosure) {
        guard let context else { return }
        sendClose(closure, context)
        if self.closure != nil { return closeNow() }
        // The peer's close frame may be among those that wait for the reader.
        takeFrames()
    }

    func closeNow() {
        context?.closeTransport()
    }

    /// Closes the socket; no task can read its messages any more.
    func drop() {
        isDone = true
        finishDelayed()
        closeNow()
    }

    func resumeReading() {
        guard isStalled else { return }
        isStalled = false
        lastRead = context?.eventLoop.now ?? lastRead
        takeFrames()
        guard let context, !isStalled, hasHeldRead else { return }
        hasHeldRead = false
        context.read()
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        lastRead = context.eventLoop.now
        armSilence(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        failQueued(ChannelError.ioOnClosedChannel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastRead = context.eventLoop.now
        awaitsPong = false
        // Behind a close frame comes nothing (RFC 6455 §5.5.1).
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
            // The peer takes what is sent, though it may say nothing until a message is whole.
            lastRead = context.eventLoop.now
            awaitsPong = false
            if let payload = unanswered.take(), !hasSentClose, !isGone {
                write(WebSocketFrame(opcode: .pong, payload: payload), context)
                context.flush()
            }
            sendQueued(context)
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(DirectHTTPError(.connectionLost, "the server closed the connection without a close frame"), context)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is UpgradedChannels.ShutDownEvent else { return context.fireUserInboundEventTriggered(event) }
        isDone = true
        inbox.finish(.failure(.shutDown))
        closeNow()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.broken(error))
        closeNow()
    }

    // MARK: Inside

    /// Takes the frames that have come, until the inbox is full. What a frame is decompressed to may be a thousand times as large:
    /// those behind it wait as they came.
    private func takeFrames() {
        do {
            while !isDone, !isStalled || hasSentClose, let frame = try decoder.next() {
                if let event = try assembler.take(frame) { try take(event) }
            }
        } catch {
            fail(error)
        }
        if isDone || !isStalled || hasSentClose { finishDelayed() }
    }

    private func take(_ event: WebSocketAssembler.Event) throws(WebSocketViolation) {
        switch event {
        case .message(let isText, let coded, let isCompressed):
            // Behind our own close frame the peer's is looked for, whatever the reader is at.
            if isStalled { dropsMessages = true }
            guard !dropsMessages else { return }
            var bytes = coded
            if isCompressed, let deflate { bytes = try deflate.decompress(coded) }
            let message = isText ? WebSocketMessage.text(try WebSocketAssembler.text(bytes)) : .binary(bytes)
            if !inbox.put(message) { isStalled = true }
        case .ping(let payload):
            // Answers that the peer does not read must not pile up.
            guard let context, !hasSentClose, !isGone else { return }
            guard context.channel.isWritable else { return unanswered = payload }
            write(WebSocketFrame(opcode: .pong, payload: payload), context)
            context.flush()
        case .pong(var payload):
            guard let number = payload.readInteger(as: UInt64.self), payload.readableBytes == 0 else { return }
            pings.removeValue(forKey: number)?.resolve(.success(()))
        case .close(let closure):
            self.closure = closure
            isDone = true
            end.peerClosed(closure)
            inbox.finish(.success(()))
            guard let context, !isGone else { return }
            sendClose(WebSocketClosure(code: closure.code), context)
            // The server closes TCP first (RFC 6455 §7.1.1); one that does not is not waited for any longer than this.
            armClose(min(TimeAmount(settings.closeTimeout), Self.closeGrace), context)
        }
    }

    private func sendClose(_ closure: WebSocketClosure, _ context: ChannelHandlerContext) {
        guard !hasSentClose else { return }
        hasSentClose = true
        sendQueued(context, all: true)
        var payload = ByteBuffer()
        if closure.code.isSendable {
            payload.writeInteger(closure.code.rawValue)
            payload.writeBytes(closure.reason.prefixOfUTF8(123))
        }
        write(WebSocketFrame(opcode: .close, payload: payload), context)
        context.flush()
        armClose(TimeAmount(settings.closeTimeout), context)
        // Whatever the reader is at: the peer's close frame must be read.
        if hasHeldRead {
            hasHeldRead = false
            context.read()
        }
    }

    private func armClose(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        closeTimer?.cancel()
        closeTimer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in self?.closeNow() }
    }

    /// The peer broke the protocol: it is told, and not waited for (RFC 6455 §7.1.7).
    private func fail(_ violation: WebSocketViolation) {
        isDone = true
        let code: DirectHTTPError.Code = violation.code == .messageTooBig ? .responseTooLarge : .malformedResponse
        inbox.finish(.failure(DirectHTTPError(code, "what the server sent is no WebSocket: \(violation.what)")))
        guard let context, !isGone else { return }
        sendClose(WebSocketClosure(code: violation.code), context)
        closeNow()
    }

    private func end(_ error: DirectHTTPError, _ context: ChannelHandlerContext) {
        closeTimer?.cancel()
        silenceTimer?.cancel()
        isGone = true
        failQueued(error)
        finish(error)
        for ping in pings.values { ping.resolve(.failure(error)) }
        pings = [:]
        if delayedEnd == nil { ended() }
        // After those who count the engine's connections.
        context.channel.closeFuture.whenComplete { [end] _ in end.came() }
    }

    /// Ends the messages; a socket that was being closed ends in good order, with an answer or without.
    private func finish(_ error: DirectHTTPError) {
        guard isStalled, !isDone, !hasSentClose else {
            return inbox.finish(closure != nil || hasSentClose ? .success(()) : .failure(error))
        }
        delayedEnd = delayedEnd ?? .failure(error)
    }

    private func finishDelayed() {
        guard let end = delayedEnd.take() else { return }
        inbox.finish(end)
        if isGone { ended() }
    }

    private func write(
        _ frame: WebSocketFrame,
        _ context: ChannelHandlerContext,
        promise: EventLoopPromise<Void>? = nil
    ) {
        let bytes = frame.encoded(mask: random.next())
        context.write(wrapOutboundOut(bytes), promise: promise)
    }

    // MARK: Silence

    private func armSilence(_ context: ChannelHandlerContext) {
        guard let interval = settings.pingInterval.map({ TimeAmount($0) }), interval > .zero else { return }
        let due = max(lastRead + interval, context.eventLoop.now + interval / 4)
        silenceTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in
            self?.silenceTimerFired(interval)
        }
    }

    private func silenceTimerFired(_ interval: TimeAmount) {
        guard let context else { return }
        if context.eventLoop.now - lastRead >= interval, !isStalled {
            guard !awaitsPong else {
                inbox.finish(.failure(.silent(for: interval * 2)))
                return closeNow()
            }
            awaitsPong = true
            if !hasSentClose { write(WebSocketFrame(opcode: .ping), context) }
            context.flush()
            lastRead = context.eventLoop.now
        }
        armSilence(context)
    }
}

extension TimeAmount {
    fileprivate static func / (amount: TimeAmount, divisor: Int64) -> TimeAmount {
        .nanoseconds(amount.nanoseconds / divisor)
    }
}

extension String {
    /// The bytes of as many whole characters as fit.
    fileprivate func prefixOfUTF8(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in unicodeScalars {
            let next = Array(String(scalar).utf8)
            guard bytes.count + next.count <= count else { break }
            bytes += next
        }
        return bytes
    }
}
