// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

// Ends a socket: after close frames, a violation, the loss of the connection or silence.
extension WebSocketHandler {
    func armClose(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        closeTimer?.cancel()
        progress.update(from: context.channel, now: context.eventLoop.now)
        closeTimer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            self?.closeTimerFired(time)
        }
    }

    private func closeTimerFired(_ time: TimeAmount) {
        guard let context else { return }
        let now = context.eventLoop.now
        guard closeExtensions < Self.maxCloseExtensions,
            progress.move(before: closeMark, within: time, on: context.channel, now: now) != nil
        else { return closeNow() }
        closeExtensions += 1
        armClose(time, context)
    }

    /// Handles a protocol violation: sends a close frame and closes the socket without waiting for an answer (RFC 6455 §7.1.7).
    func fail(_ violation: WebSocketViolation) {
        isDone = true
        let error =
            violation.code == .messageTooBig
            ? DirectHTTPError(
                .responseTooLarge,
                "the server sent a message of more than \(settings.messageBound) bytes: raise maxMessageBytes if it should"
            )
            : DirectHTTPError(.malformedResponse, "the server broke the WebSocket protocol: \(violation.what)")
        inbox.finish(.failure(error))
        guard let context, !isGone else { return }
        sendClose(WebSocketClosure(code: WebSocketCloseCode(rawValue: violation.code.rawValue)), context)
        closeNow()
    }

    func end(_ error: DirectHTTPError) {
        closeTimer?.cancel()
        silenceTimer?.cancel()
        isGone = true
        failQueued(error)
        finish(error)
        for ping in pings.values { ping.resolve(.failure(error)) }
        pings = [:]
        if delayedEnd == nil { ended() }
    }

    func failQueued(_ error: any Error) { for message in outbox.removeAll() { message.written.fail(error) } }

    /// Ends the messages. If the socket was being closed, this is a proper end even without the peer's answer.
    func finish(_ error: DirectHTTPError) {
        guard isStalled, !isDone, !hasSentClose else {
            return inbox.finish(inbox.closure != nil || hasSentClose ? .success(()) : .failure(error))
        }
        delayedEnd = delayedEnd ?? .failure(error)
    }

    func finishDelayed() {
        guard let end = delayedEnd.take() else { return }
        inbox.finish(end)
        if isGone { ended() }
    }

    // MARK: Silence

    func armSilence(_ context: ChannelHandlerContext) {
        guard let due = liveness.due else { return }
        silenceTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in
            self?.silenceTimerFired()
        }
    }

    private func silenceTimerFired() {
        guard let context else { return }
        let now = context.eventLoop.now
        // A socket that is not read looks silent.
        if isStalled { liveness.recordReceived(now: now) }
        switch liveness.check(now: now, progress: progress.updated(from: context.channel, now: now)) {
        case .alive: break
        case .ping: if !hasSentClose { write(WebSocketFrame(opcode: .ping), context) }
        case .dead:
            inbox.finish(.failure(.silent(for: liveness.pingTimeout * 2)))
            return closeNow()
        }
        armSilence(context)
    }
}
