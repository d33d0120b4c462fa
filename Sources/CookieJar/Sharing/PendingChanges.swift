// SPDX-License-Identifier: Apache-2.0

/// The changes of a jar that a shared store, such as a file or a server, does not have yet: the latest one for each cookie.
package struct PendingChanges: Sendable {
    /// The latest change of a cookie.
    package struct Entry: Hashable, Sendable {
        package enum Kind: Hashable, Sendable {
            case stored
            case removed
            /// Removed because the jar was full, not by request. A change by another process restores the cookie.
            case evicted
        }

        package let cookie: Cookie
        package let kind: Kind
        /// The time of the change in microseconds since 1970; unique among entries.
        package let updated: Int64
        /// The time at which the first pending version of the cookie was stored. It orders cookies with equal creation times.
        package var order: Int64

        /// - Parameter order: Default: `updated`.
        package init(cookie: Cookie, kind: Kind, updated: Int64, order: Int64? = nil) {
            (self.cookie, self.kind, self.updated, self.order) = (cookie, kind, updated, order ?? updated)
        }
    }

    /// The content of one write.
    package enum Batch: Hashable, Sendable {
        /// These changes, in order.
        case changes([Entry])
        /// All differences between jar and store, because there were too many changes to track.
        case everything
    }

    /// The maximum number of tracked cookies.
    package let capacity: Int
    private var entries: [CookieKey: Entry] = [:]
    /// Whether there were more changes than the capacity.
    package private(set) var isOverrun = false
    private var lastUpdate: Int64 = .min

    package init(capacity: Int) { self.capacity = capacity }

    /// The number of pending changes.
    package var count: Int { isOverrun ? capacity : entries.count }

    /// The cookies with a pending change. Empty after an overrun.
    package var keys: Set<CookieKey> { Set(entries.keys) }

    /// Records a change of the jar.
    ///
    /// - Returns: The time of the change; nil for an expiry, and after an overrun.
    @discardableResult
    package mutating func note(_ change: CookieChange, at now: CookieTime) -> Int64? {
        let kind: Entry.Kind
        switch change.kind {
        case .added, .replaced: kind = .stored
        case .removed(.explicit), .removed(.overwritten): kind = .removed
        case .removed(.evicted): kind = .evicted
        // The store drops expired cookies itself, and another process may have renewed this cookie there.
        case .removed(.expired): return nil
        }
        if isOverrun { return nil }
        let updated = stamp(at: now)
        put(Entry(cookie: change.cookie, kind: kind, updated: updated))
        return updated
    }

    /// Adds a change in place of an earlier one of the same cookie.
    package mutating func put(_ entry: Entry) {
        let key = CookieKey(entry.cookie)
        if isOverrun { return }
        if entries.count >= capacity, entries[key] == nil { return overrun() }
        entries[key] = entry.following(entries[key])
    }

    /// Returns a time for a change made now. It is later than all times made or seen before, even if the clock is set back.
    package mutating func stamp(at now: CookieTime) -> Int64 {
        lastUpdate = max(now.microseconds, lastUpdate &+ 1)
        return lastUpdate
    }

    /// Records that changes of other processes up to a time were seen, so that later local changes count as newer.
    package mutating func noteUpdate(_ updated: Int64) {
        // The bound leaves room for later times if a store contains an unrealistic one.
        lastUpdate = max(lastUpdate, min(updated, .max / 2))
    }

    /// Whether a pending change of this cookie is newer than a change by another process. An older pending change is dropped.
    /// After an overrun, every change by other processes wins: if the jar ignored one, it would later overwrite it with its own
    /// older cookie.
    package mutating func outranks(_ key: CookieKey, updated: Int64) -> Bool {
        if isOverrun { return false }
        guard let entry = entries[key] else { return false }
        if entry.updated > updated, entry.kind != .evicted { return true }
        entries[key] = nil
        return false
    }

    /// Removes and returns the pending changes.
    package mutating func take() -> Batch {
        defer {
            entries = [:]
            isOverrun = false
        }
        return isOverrun ? .everything : .changes(entries.values.sorted { $0.order < $1.order })
    }

    /// Restores the changes of a failed write. Newer changes are kept.
    package mutating func putBack(_ batch: Batch) {
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
