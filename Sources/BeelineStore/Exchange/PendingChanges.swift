// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// The changes of a jar that are not in the file yet: the latest one for each cookie.
struct PendingChanges: Sendable {
    /// The latest change of a cookie.
    struct Entry: Hashable, Sendable {
        /// The kind of change.
        enum Kind: Hashable, Sendable {
            case stored
            case removed
            /// Removed because the jar was full, not by request. A change by another process restores the cookie.
            case evicted
        }

        let cookie: Cookie
        let kind: Kind
        /// The time of the change in microseconds since 1970; unique among entries.
        let updated: Int64
        /// The time at which the first pending version of the cookie was stored. It orders cookies with equal creation times.
        var order: Int64
    }

    /// The content of one write.
    enum Batch: Hashable, Sendable {
        /// These changes, in order.
        case changes([Entry])
        /// All differences between jar and file, because there were too many changes to track.
        case everything
    }

    /// The maximum number of tracked cookies.
    let capacity: Int
    private var entries: [CookieKey: Entry] = [:]
    /// Whether there were more changes than the capacity.
    private(set) var isOverrun = false
    private var lastUpdate: Int64 = .min

    init(capacity: Int) { self.capacity = capacity }

    /// The number of pending changes.
    var count: Int { isOverrun ? capacity : entries.count }

    /// Records a change of the jar.
    mutating func note(_ change: CookieChange, at now: CookieTime) {
        let kind: Entry.Kind
        switch change.kind {
        case .added, .replaced: kind = .stored
        case .removed(.explicit), .removed(.overwritten): kind = .removed
        case .removed(.evicted): kind = .evicted
        // The file drops expired cookies itself, and another process may have renewed this cookie there.
        case .removed(.expired): return
        }
        if isOverrun { return }
        let key = CookieKey(change.cookie)
        let updated = stamp(at: now)
        if entries.count >= capacity, entries[key] == nil { return overrun() }
        let entry = Entry(cookie: change.cookie, kind: kind, updated: updated, order: updated)
        entries[key] = entry.following(entries[key])
    }

    /// Returns a time for a change made now. It is later than all times made or seen before, even if the clock is set back.
    mutating func stamp(at now: CookieTime) -> Int64 {
        lastUpdate = max(now.microseconds, lastUpdate &+ 1)
        return lastUpdate
    }

    /// Records that changes of other processes up to a time were seen, so that later local changes count as newer.
    mutating func noteUpdate(_ updated: Int64) {
        // The bound leaves room for later times if a file contains an unrealistic one.
        lastUpdate = max(lastUpdate, min(updated, .max / 2))
    }

    /// Whether a pending change of this cookie is newer than a change by another process. An older pending change is dropped.
    /// After an overrun, every change by other processes wins: if the jar ignored one, it would later overwrite it with its own
    /// older cookie.
    mutating func outranks(_ key: CookieKey, updated: Int64) -> Bool {
        if isOverrun { return false }
        guard let entry = entries[key] else { return false }
        if entry.updated > updated, entry.kind != .evicted { return true }
        entries[key] = nil
        return false
    }

    /// Removes and returns the pending changes.
    mutating func take() -> Batch {
        defer {
            entries = [:]
            isOverrun = false
        }
        return isOverrun ? .everything : .changes(entries.values.sorted { $0.order < $1.order })
    }

    /// Restores the changes of a failed write. Newer changes are kept.
    mutating func putBack(_ batch: Batch) {
        switch batch {
        case .everything: overrun()
        case .changes(let changes):
            if isOverrun { return }
            entries.merge(changes.map { (CookieKey($0.cookie), $0) }) { newer, older in newer.following(older) }
        }
    }

    private mutating func overrun() {
        isOverrun = true
        entries = [:]
    }
}

extension PendingChanges.Entry {
    /// Returns this entry as the successor of an older one. A replaced cookie keeps its order.
    fileprivate func following(_ older: Self?) -> Self {
        guard let older, older.kind == .stored, kind == .stored else { return self }
        var entry = self
        entry.order = older.order
        return entry
    }
}
