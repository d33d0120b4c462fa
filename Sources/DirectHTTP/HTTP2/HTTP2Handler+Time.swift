// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

/// The connection's one timer: the idle limits and deadlines of its streams, PINGs, and the idle time of the connection.
extension HTTP2Handler {
    func becomeIdle(_ context: ChannelHandlerContext) {
        restEnd = now + keepIdle
        arm(restEnd, context)
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
            let error = stream.watch.error(
                now: now,
                isStalled: stream.isStalled,
                lacksPiece: waitsForBody(stream),
                isOnlyUploading: stream.isEndHeld
            ) { progress.move(before: stream.sentMark, within: $0, on: context.channel, now: now) }
            if let error {
                connection.reset(stream.id, .cancel)
                fail(stream.id, error)
            } else {
                arm(stream.watch.due, context)
            }
        }
        if streams.isEmpty {
            if restEnd <= now { closeNow() } else { arm(restEnd, context) }
        } else {
            check(now, context)
            arm(liveness.due, context)
        }
        flush(context)
    }
}
