// SPDX-License-Identifier: Apache-2.0

import NIOCore

// The time limits of a connection.
extension HTTP1Handler {
    /// Each connection uses one timer. It is rescheduled only if something is due before it fires.
    func armTimer(_ context: ChannelHandlerContext) {
        guard let due = watch.due, watch.scheduled.map({ due < $0 }) ?? true else { return }
        timer?.cancel()
        watch.scheduled = due
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        watch.scheduled = nil
        guard let context else { return }
        // While the next piece of the request's body is missing, the peer's silence is not an error.
        let waitsForBody = exchange != nil && upload.waitsForPiece && sendWaiter == nil
        // After the response it is one: the source may wait for the end of the response, which waits for the source.
        let isExcused = waitsForBody && !isEndHeld
        switch watch.check(now: context.eventLoop.now, isStalled: isStalled || isExcused) {
        case .wait:
            armTimer(context)
        case .restedEnough:
            closeNow()
        case .silent(let limit):
            let (mark, now) = (progress.written, context.eventLoop.now)
            // The end of the request's body may still be on the way.
            if let move = progress.move(before: mark, within: limit, on: context.channel, now: now) {
                watch.recordActivity(now: move)
                return armTimer(context)
            }
            end(with: waitsForBody && isEndHeld ? .sourceSilent(for: limit) : .silent(for: limit))
        case .late:
            end(with: .late)
        }
    }
}
