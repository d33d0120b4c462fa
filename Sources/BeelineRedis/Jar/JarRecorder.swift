// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar
import NIOConcurrencyHelpers

/// Records the changes of a jar for the server, and the version of each cookie that the jar has.
///
/// It is called under the jar's lock, so it must never use the jar.
final class JarRecorder: CookieFollower {
    private struct State {
        var pending: PendingChanges
        var known: [CookieKey: KnownVersion] = [:]
        /// The number of changes that a running write has taken, and more than 0 after an overrun.
        var taken = 0
        var isFinished = false

        /// The number of changes that are pending or being written.
        var unwritten: Int { pending.count + taken }
    }

    /// The source of changes that came from the server and must not be written back.
    let source = ChangeSource()
    /// Signaled at each change.
    let wakeSignal = WakeSignal()
    private let state: NIOLockedValueBox<State>
    private let maxKnown: Int
    private let clock: @Sendable () -> CookieTime

    /// - Parameters:
    ///   - capacity: The maximum number of pending changes.
    ///   - maxKnown: The number of known versions above which the oldest are forgotten, first those of cookies that
    ///     the jar does not have.
    init(capacity: Int, maxKnown: Int, clock: @escaping @Sendable () -> CookieTime) {
        state = NIOLockedValueBox(State(pending: PendingChanges(capacity: capacity)))
        self.maxKnown = maxKnown
        self.clock = clock
    }

    var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    /// Ignores all further changes.
    func finish() { state.withLockedValue { $0.isFinished = true } }

    /// Ignores all further changes if all changes so far were written. Returns whether they were.
    func finishIfWritten() -> Bool {
        state.withLockedValue { state in
            if state.unwritten == 0 { state.isFinished = true }
            return state.isFinished
        }
    }

    /// The time for versions. If the clock is outside the range of versions, it is wrong; versions then continue after
    /// those that were seen.
    private func time() -> CookieTime {
        let now = clock()
        return (1...JarUpdate.maxVersion).contains(now.microseconds) ? now : CookieTime(microseconds: 1)
    }

    func note(_ changes: [CookieChange]) {
        let now = time()
        let isNews = state.withLockedValue { state in
            guard !state.isFinished else { return false }
            var isNews = false
            for change in changes {
                let key = CookieKey(change.cookie)
                switch change.kind {
                // The server drops expired cookies itself. The version stays known, so that no older one returns.
                case .removed(.expired):
                    if state.known[key]?.kind == .stored { state.known[key]?.kind = .absent }
                // The limits of this process must not delete the cookies of others.
                case .removed(.evicted) where change.source == source:
                    state.known[key]?.kind = .evicted
                case .removed(.evicted):
                    // Just above the version that was evicted, so that each change by another process restores the
                    // cookie.
                    let version = (state.known[key]?.version ?? 0) + 1
                    state.pending.put(PendingChanges.Entry(cookie: change.cookie, kind: .evicted, updated: version))
                    state.known[key] = KnownVersion(version: version, kind: .removed)
                    isNews = true
                case .added, .replaced, .removed:
                    let isRemoved = if case .removed = change.kind { true } else { false }
                    guard change.source != source else {
                        // An expired or evicted cookie made room for this one in the same step.
                        let kind = state.known[key]?.kind
                        if !isRemoved, kind == .absent || kind == .evicted { state.known[key]?.kind = .stored }
                        continue
                    }
                    let version = state.pending.note(change, at: now) ?? state.pending.stamp(at: now)
                    state.known[key] = KnownVersion(version: version, kind: isRemoved ? .removed : .stored)
                    isNews = true
                }
            }
            forgetOldest(&state)
            return isNews
        }
        if isNews { wakeSignal.signal() }
    }

    /// The number of pending changes.
    var count: Int { state.withLockedValue { $0.pending.count } }

    /// The number of changes that are pending or being written.
    var unwritten: Int { state.withLockedValue { $0.unwritten } }

    /// Returns a time for a change made now, later than all versions that were seen.
    func stamp() -> Int64 {
        let now = time()
        return state.withLockedValue { $0.pending.stamp(at: now) }
    }

    /// Whether the jar keeps its own state of a cookie rather than an update. If not, the update's version is recorded.
    ///
    /// - Parameter winsTies: Whether the update wins against a change of this process with the same version. The
    ///   server's record wins, because one side must.
    func keepsOwn(_ update: JarUpdate, winsTies: Bool) -> Bool {
        state.withLockedValue { state in
            if let known = state.known[update.key] {
                let winsTie = winsTies || (known.kind == .absent && update.cookie != nil)
                guard known.version < update.version || (winsTie && known.version == update.version) else {
                    return true
                }
            }
            let kind: KnownVersion.Kind = update.cookie == nil ? .removed : .stored
            state.known[update.key] = KnownVersion(version: update.version, kind: kind)
            _ = state.pending.outranks(update.key, updated: update.version)
            state.pending.noteUpdate(update.version)
            forgetOldest(&state)
            return false
        }
    }

    /// Removes and returns the pending changes. Call ``writeEnded()`` when they are written or put back.
    func take() -> PendingChanges.Batch {
        state.withLockedValue { state in
            let batch = state.pending.take()
            state.taken = if case .changes(let changes) = batch { changes.count } else { 1 }
            return batch
        }
    }

    /// Records the end of the write that took changes.
    func writeEnded() { state.withLockedValue { $0.taken = 0 } }

    /// Restores the changes of a failed write, or adds changes that the server lacks. Newer changes of the same cookies
    /// stay.
    func putBack(_ changes: [PendingChanges.Entry]) {
        guard !changes.isEmpty else { return }
        state.withLockedValue { $0.pending.putBack(.changes(changes)) }
        wakeSignal.signal()
    }

    /// The known versions, and the cookies with pending changes.
    var snapshot: (known: [CookieKey: KnownVersion], pending: Set<CookieKey>) {
        state.withLockedValue { ($0.known, $0.pending.keys) }
    }

    /// Records that the jar does not have a cookie, if the known version is still the given one. The version stays
    /// known, so that an older record does not bring the cookie back. Returns whether the version was the given one.
    @discardableResult
    func mark(_ key: CookieKey, _ kind: KnownVersion.Kind, ifVersion version: Int64) -> Bool {
        state.withLockedValue { state in
            guard state.known[key]?.version == version else { return false }
            state.known[key]?.kind = kind
            return true
        }
    }

    /// Records whether the server had room for a change, if its version is still the given one.
    func noteRefusal(_ isRefused: Bool, of key: CookieKey, version: Int64) {
        state.withLockedValue { state in
            if state.known[key]?.version == version { state.known[key]?.isRefused = isRefused }
        }
    }

    /// Bounds the memory for versions: forgets a quarter, first those of cookies that the jar does not have. A
    /// forgotten cookie can return for a moment, until its next record arrives by the feed.
    private func forgetOldest(_ state: inout State) {
        guard state.known.count > maxKnown else { return }
        let oldest = state.known.sorted { left, right in
            (left.value.kind == .stored ? 1 : 0, left.value.version)
                < (right.value.kind == .stored ? 1 : 0, right.value.version)
        }
        for (key, _) in oldest.prefix(max(maxKnown / 4, 1)) { state.known[key] = nil }
    }
}
#endif
