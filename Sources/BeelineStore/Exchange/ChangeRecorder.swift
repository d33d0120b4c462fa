// SPDX-License-Identifier: Apache-2.0

import CookieJar
import NIOConcurrencyHelpers

/// Notes what happens to a jar, as it happens, and rings when there is something to write.
///
/// It is called under the jar's lock, so it never uses the jar; the jar may be used by who holds nothing of this.
final class ChangeRecorder: CookieFollower {
    private struct State {
        var pending: PendingChanges
        var isFinished = false
    }

    private let state: NIOLockedValueBox<State>
    private let batchCount: Int
    private let clock: @Sendable () -> CookieTime
    /// Marks what was taken over from the file, which is not to be written back.
    let source = ChangeSource()
    /// Rings at the first change after a batch, and when a batch is full.
    let bell = Bell()

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
        if before == 0, after > 0 { bell.ring() }
        if before < batchCount, after >= batchCount { bell.ring() }
    }

    /// How many changes wait.
    var count: Int { state.withLockedValue { $0.pending.count } }

    /// Whether more changes wait than are remembered.
    var isOverrun: Bool { state.withLockedValue { $0.pending.isOverrun } }

    /// Whether a change waits that is newer than one by another process; an older one gives way.
    func outranks(_ key: CookieKey, updated: Int64) -> Bool {
        state.withLockedValue { $0.pending.outranks(key, updated: updated) }
    }

    /// Takes out all that waits.
    func take() -> PendingChanges.Batch { state.withLockedValue { $0.pending.take() } }

    /// Puts back what could not be written.
    func putBack(_ batch: PendingChanges.Batch) { state.withLockedValue { $0.pending.putBack(batch) } }

    /// Notes how new the changes of others are.
    func witness(_ updated: Int64) { state.withLockedValue { $0.pending.witness(updated) } }

    /// A time for a change that is made now.
    func stamp() -> Int64 {
        let now = clock()
        return state.withLockedValue { $0.pending.stamp(at: now) }
    }
}
