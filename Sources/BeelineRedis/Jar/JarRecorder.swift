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
        var isFinished = false
    }

    /// The source of changes that came from the server and must not be written back.
    let source = ChangeSource()
    /// Rings at each change.
    let wakeSignal = WakeSignal()
    private let state: NIOLockedValueBox<State>
    private let maxKnown: Int
    private let clock: @Sendable () -> CookieTime

    /// - Parameters:
    ///   - capacity: The maximum number of pending changes.
    ///   - maxKnown: The number of known versions above which those of removed cookies are forgotten, the oldest first.
    init(capacity: Int, maxKnown: Int, clock: @escaping @Sendable () -> CookieTime) {
        state = NIOLockedValueBox(State(pending: PendingChanges(capacity: capacity)))
        self.maxKnown = maxKnown
        self.clock = clock
    }

    var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    func finish() { state.withLockedValue { $0.isFinished = true } }

    func note(_ changes: [CookieChange]) {
        let now = clock()
        let isNews = state.withLockedValue { state in
            guard !state.isFinished else { return false }
            var isNews = false
            for change in changes {
                let key = CookieKey(change.cookie)
                switch change.kind {
                // The server drops expired cookies itself.
                case .removed(.expired): state.known[key] = nil
                case .removed(.evicted):
                    // Just above the version that was evicted, so that each change by another process restores the cookie.
                    let version = (state.known[key]?.version ?? 0) + 1
                    let entry = PendingChanges.Entry(
                        cookie: change.cookie,
                        kind: .evicted,
                        updated: version,
                        order: version
                    )
                    state.pending.put(entry)
                    state.known[key] = KnownVersion(version: version, isRemoved: true)
                    isNews = true
                case .added, .replaced, .removed:
                    guard change.source != source else { continue }
                    let version = state.pending.note(change, at: now) ?? state.pending.stamp(at: now)
                    let isRemoved = if case .removed = change.kind { true } else { false }
                    state.known[key] = KnownVersion(version: version, isRemoved: isRemoved)
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

    /// Returns a time for a change made now, later than all versions that were seen.
    func stamp() -> Int64 {
        let now = clock()
        return state.withLockedValue { $0.pending.stamp(at: now) }
    }

    /// Whether the jar keeps its own state of a cookie rather than an update. If not, the update's version is recorded.
    ///
    /// - Parameter winsTies: Whether the update wins against an own change with the same version. The server's record does,
    ///   because one side must.
    func keepsOwn(_ update: JarUpdate, winsTies: Bool) -> Bool {
        state.withLockedValue { state in
            if let known = state.known[update.key] {
                guard known.version < update.version || (winsTies && known.version == update.version) else {
                    return true
                }
            }
            state.known[update.key] = KnownVersion(version: update.version, isRemoved: update.cookie == nil)
            _ = state.pending.outranks(update.key, updated: update.version)
            state.pending.noteUpdate(update.version)
            forgetOldest(&state)
            return false
        }
    }

    /// Removes and returns the pending changes.
    func take() -> PendingChanges.Batch { state.withLockedValue { $0.pending.take() } }

    /// Restores the changes of a failed write, or adds changes that the server lacks. Newer changes of the same cookies stay.
    func putBack(_ changes: [PendingChanges.Entry]) {
        guard !changes.isEmpty else { return }
        state.withLockedValue { $0.pending.putBack(.changes(changes)) }
        wakeSignal.signal()
    }

    /// The known versions, and the cookies with pending changes.
    var snapshot: (known: [CookieKey: KnownVersion], pending: Set<CookieKey>) {
        state.withLockedValue { ($0.known, $0.pending.keys) }
    }

    /// Forgets a cookie if its version is still the given one. Returns whether it was.
    func forget(_ key: CookieKey, version: Int64) -> Bool {
        state.withLockedValue { state in
            guard state.known[key]?.version == version else { return false }
            state.known[key] = nil
            return true
        }
    }

    /// Bounds the memory for versions: forgets a quarter, removed cookies first, then those that the jar may have refused. A forgotten
    /// cookie can return for a moment, until its next record arrives by the feed.
    private func forgetOldest(_ state: inout State) {
        guard state.known.count > maxKnown else { return }
        let oldest = state.known.sorted { left, right in
            (left.value.isRemoved ? 0 : 1, left.value.version) < (right.value.isRemoved ? 0 : 1, right.value.version)
        }
        for (key, _) in oldest.prefix(max(maxKnown / 4, 1)) { state.known[key] = nil }
    }
}
#endif
