// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

/// The connection's one timer: the idle limits and deadlines of its streams, PINGs, and the idle time of the connection.
extension HTTP2Handler {
    func becomeIdle(_ context: ChannelHandlerContext) {
        rest.rest(now: now, keep: keepIdle)
        arm(rest.due, context)
    }

    func arm(_ due: NIODeadline?, _ context: ChannelHandlerContext) {
        guard let due, timerDue.map({ due < $0 }) ?? true else { return }
        timer?.cancel()
        timerDue = due
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.timerFired() }
    }

    /// Checks whether the peer is alive, sending a PING if needed. Returns false if it is not; the connection is then closed.
    @discardableResult
    func check(_ now: NIODeadline, _ context: ChannelHandlerContext) -> Bool {
        // A PING would wait behind the bytes that the socket does not accept yet, so the peer could not answer in time. The
        // streams' own limits detect a peer that reads nothing.
        guard context.channel.isWritable else {
            liveness.recordReceived(now: now)
            return true
        }
        switch liveness.check(now: now, progress: progress.updated(from: context.channel, now: now)) {
        case .alive:
            return true
        case .ping:
            connection.out.writePing(0, isAcknowledgement: false)
            return true
        case .dead:
            failAll(
                DirectHTTPError(
                    .connectionLost,
                    "the server did not answer a PING in \(Duration(liveness.pingTimeout))"
                )
            )
            closeNow()
            return false
        }
    }

    func timerFired() {
        timerDue = nil
        guard let context else { return }
        let now = context.eventLoop.now
        for stream in streams.values {
            // While the next piece of the request's body is missing, the peer's silence is not an error. After the response it
            // is one: the source may wait for the end of the response, which waits for the source.
            let lacksPiece = waitsForBody(stream)
            let isExcused = lacksPiece && !stream.isEndHeld
            switch stream.watch.check(now: now, isStalled: stream.isStalled || isExcused) {
            case .wait, .restedEnough:
                arm(stream.watch.due, context)
            case .silent(let limit):
                // The request, or the end of its body, may still be on the way.
                if let move = progress.move(before: stream.sentMark, within: limit, on: context.channel, now: now) {
                    stream.watch.recordActivity(now: move)
                    arm(stream.watch.due, context)
                    continue
                }
                let isSource = lacksPiece && stream.isEndHeld
                connection.reset(stream.id, .cancel)
                fail(stream.id, isSource ? .sourceSilent(for: limit) : .silent(for: limit))
            case .late:
                connection.reset(stream.id, .cancel)
                fail(stream.id, .late)
            }
        }
        if streams.isEmpty {
            if rest.check(now: now, isStalled: false) == .restedEnough { closeNow() } else { arm(rest.due, context) }
        } else {
            check(now, context)
            arm(liveness.due, context)
        }
        flush(context)
    }
}
