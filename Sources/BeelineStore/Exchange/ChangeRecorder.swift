// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// Records the changes of a jar as they happen, and rings when there is something to write.
///
/// It is called under the jar's lock, so it must never use the jar. Code that holds no lock of this type may use the jar.
final class ChangeRecorder: CookieFollower {
    private struct State {
        var pending: PendingChanges
        var isFinished = false
    }

    private let state: NIOLockedValueBox<State>
    private let batchCount: Int
    private let clock: @Sendable () -> CookieTime
    /// The source of changes that came from the file and must not be written back.
    let source = ChangeSource()
    /// Rings at the first change after a batch, and when a batch is full.
    let wakeSignal = WakeSignal()

    init(capacity: Int, batchCount: Int, clock: @escaping @Sendable () -> CookieTime) {
        state = NIOLockedValueBox(State(pending: PendingChanges(capacity: max(capacity, batchCount))))
        self.batchCount = batchCount
        self.clock = clock
    }

    var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    func finish() { state.withLockedValue { $0.isFinished = true } }

    func note(_ changes: [CookieChange]) {
        let now = clock()
        let (before, after) = state.withLockedValue { state in
            let before = state.pending.count
            guard !state.isFinished else { return (before, before) }
            for change in changes where change.source != source || change.kind == .removed(.evicted) {
                state.pending.note(change, at: now)
            }
            return (before, state.pending.count)
        }
        if before == 0, after > 0 { wakeSignal.signal() }
        if before < batchCount, after >= batchCount { wakeSignal.signal() }
    }

    /// The number of pending changes.
    var count: Int { state.withLockedValue { $0.pending.count } }

    /// Whether there are more pending changes than the capacity.
    var isOverrun: Bool { state.withLockedValue { $0.pending.isOverrun } }

    /// Whether a pending change is newer than a change by another process. An older pending change is dropped.
    func outranks(_ key: CookieKey, updated: Int64) -> Bool {
        state.withLockedValue { $0.pending.outranks(key, updated: updated) }
    }

    /// Removes and returns the pending changes.
    func take() -> PendingChanges.Batch { state.withLockedValue { $0.pending.take() } }

    /// Restores the changes of a failed write.
    func putBack(_ batch: PendingChanges.Batch) { state.withLockedValue { $0.pending.putBack(batch) } }

    /// Records the time of the newest change by other processes.
    func noteUpdate(_ updated: Int64) { state.withLockedValue { $0.pending.noteUpdate(updated) } }

    /// Returns the time for a change made now.
    func stamp() -> Int64 {
        let now = clock()
        return state.withLockedValue { $0.pending.stamp(at: now) }
    }
}
