// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The one timer of a connection: silence and deadlines of its streams, PINGs, and how long it rests unused.
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

    /// Asks by PING whether the peer is there, or finds that it is not: false.
    @discardableResult
    func check(_ now: NIODeadline, _ context: ChannelHandlerContext) -> Bool {
        // A PING would wait behind the bytes that the socket does not take yet, and the silence would be ours. The streams' own limits
        // find a peer that takes none of them.
        guard context.channel.isWritable else {
            liveness.hear(now: now)
            return true
        }
        switch liveness.check(now: now) {
        case .alive:
            return true
        case .ping:
            connection.out.writePing(0, isAcknowledgement: false)
            return true
        case .dead:
            failAll(
                DirectHTTPError(.connectionLost, "the server did not answer a PING in \(Duration(liveness.patience))")
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
            switch stream.watch.check(now: now, isStalled: stream.isStalled || waitsForBody(stream)) {
            case .wait, .restedEnough:
                arm(stream.watch.due, context)
            case .silent(let limit):
                connection.reset(stream.id, .cancel)
                fail(stream.id, .silent(for: limit))
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
