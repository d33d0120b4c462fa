// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// What has happened to a jar's cookies and is not in the file yet: the last word on each.
struct PendingChanges: Sendable {
    /// The last word on a cookie.
    struct Entry: Hashable, Sendable {
        /// What became of it.
        enum Kind: Hashable, Sendable {
            case stored
            case removed
            /// It went because the jar was full: nobody wanted it gone, so a change by another process brings it back.
            case evicted
        }

        let cookie: Cookie
        let kind: Kind
        /// When, in microseconds since 1970; no two entries have the same.
        let updated: Int64
        /// When the cookie came that was changed since: its place among cookies that were created at one time.
        var order: Int64
    }

    /// What is to be written at once.
    enum Batch: Hashable, Sendable {
        /// These changes, in their order.
        case changes([Entry])
        /// Whatever is different: there were too many changes to remember.
        case everything
    }

    /// How many cookies are remembered one by one.
    let capacity: Int
    private var entries: [CookieKey: Entry] = [:]
    /// Whether there were too many changes to remember.
    private(set) var isOverrun = false
    private var lastUpdate: Int64 = .min

    init(capacity: Int) { self.capacity = capacity }

    /// How many changes wait.
    var count: Int { isOverrun ? capacity : entries.count }

    /// Notes a change of the jar.
    mutating func note(_ change: CookieChange, at now: CookieTime) {
        let kind: Entry.Kind
        switch change.kind {
        case .added, .replaced: kind = .stored
        case .removed(.explicit), .removed(.overwritten): kind = .removed
        case .removed(.evicted): kind = .evicted
        // The file drops expired cookies by itself, and this one may have been renewed there by another process.
        case .removed(.expired): return
        }
        if isOverrun { return }
        let key = CookieKey(change.cookie)
        let updated = stamp(at: now)
        if entries.count >= capacity, entries[key] == nil { return overrun() }
        let entry = Entry(cookie: change.cookie, kind: kind, updated: updated, order: updated)
        entries[key] = entry.following(entries[key])
    }

    /// A time for a change that is made now: later than all that were made or seen here, even when the clock is put back.
    mutating func stamp(at now: CookieTime) -> Int64 {
        lastUpdate = max(now.microseconds, lastUpdate &+ 1)
        return lastUpdate
    }

    /// Notes that changes of other processes up to a time were seen: what is changed here from now on is newer.
    mutating func witness(_ updated: Int64) {
        // A time that no clock shows would leave no room for later ones.
        lastUpdate = max(lastUpdate, min(updated, .max / 2))
    }

    /// Whether a change of this cookie waits that is newer than one by another process; an older one gives way and is
    /// forgotten. Where there were too many changes to remember, every change of others counts: a jar that passed over it
    /// would write its own older cookie over it later.
    mutating func outranks(_ key: CookieKey, updated: Int64) -> Bool {
        if isOverrun { return false }
        guard let entry = entries[key] else { return false }
        if entry.updated > updated, entry.kind != .evicted { return true }
        entries[key] = nil
        return false
    }

    /// Takes out all that waits.
    mutating func take() -> Batch {
        defer {
            entries = [:]
            isOverrun = false
        }
        return isOverrun ? .everything : .changes(entries.values.sorted { $0.order < $1.order })
    }

    /// Puts back what could not be written; what has happened since stays.
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
    /// The entry behind the one before it: a cookie that is replaced keeps its place.
    fileprivate func following(_ older: Self?) -> Self {
        guard let older, older.kind == .stored, kind == .stored else { return self }
        var entry = self
        entry.order = older.order
        return entry
    }
}
