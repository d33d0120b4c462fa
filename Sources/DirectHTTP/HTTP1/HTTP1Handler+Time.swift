// SPDX-License-Identifier: Apache-2.0

import NIOCore

// The time limits of a connection.
extension HTTP1Handler {
    /// Each connection uses one timer. It is rescheduled only if something is due before it fires.
    func armTimer(_ context: ChannelHandlerContext) {
        guard let due = exchange == nil ? restEnd : watch.due, timerDue.map({ due < $0 }) ?? true else { return }
        timer?.cancel()
        timerDue = due
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        timerDue = nil
        guard let context else { return }
        let (mark, now) = (progress.written, context.eventLoop.now)
        if exchange == nil {
            if restEnd <= now { closeNow() } else { armTimer(context) }
            return
        }
        let error = watch.error(
            now: now,
            isStalled: isStalled,
            lacksPiece: upload.waitsForPiece && sendWaiter == nil,
            isOnlyUploading: isEndHeld
        ) { progress.move(before: mark, within: $0, on: context.channel, now: now) }
        if let error { end(with: error) } else { armTimer(context) }
    }
}
