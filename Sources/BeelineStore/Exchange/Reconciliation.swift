// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Merges the changes of this process with those of others since the last exchange: for each cookie, the newest change wins. A
/// pure value without I/O.
struct Reconciliation: Hashable, Sendable {
    /// The changes of this process to write into the file.
    private(set) var written: [PendingChanges.Entry] = []
    /// The changes of other processes to apply to the jar.
    private(set) var takenOver: [CookieRows.Change] = []

    /// Merges the tracked changes of this process with those that other processes have written since the last check.
    init(own: [PendingChanges.Entry], others: [CookieRows.Change]) {
        var others = Dictionary(others.map { ($0.key, $0) }) { $0.updated > $1.updated ? $0 : $1 }
        for entry in own {
            let key = CookieKey(entry.cookie)
            if let other = others[key], other.updated >= entry.updated || entry.kind == .evicted { continue }
            written.append(entry)
            others[key] = nil
        }
        takenOver = others.values.sorted { $0.updated < $1.updated }
    }

    /// Merges the whole jar with the whole file when this process no longer tracks its changes.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies.
    ///   - file: The file's cookies.
    ///   - others: The changes of other processes since the last check. They win.
    ///   - updated: The time for all changes of this process.
    init(jar: [Cookie], file: [Cookie], others: [CookieRows.Change], updated: Int64) {
        let theirs = Set(others.map(\.key))
        var missing = Dictionary(file.map { (CookieKey($0), $0) }) { $1 }
        for cookie in jar {
            let key = CookieKey(cookie)
            let stored = missing.removeValue(forKey: key)
            if !theirs.contains(key), stored.map({ !$0.isSame(as: cookie) }) ?? true {
                written.append(PendingChanges.Entry(cookie: cookie, kind: .stored, updated: updated))
            }
        }
        written += missing.filter { !theirs.contains($0.key) }.values
            .map { PendingChanges.Entry(cookie: $0, kind: .removed, updated: updated) }
        takenOver = others
    }
}

extension Cookie {
    /// Whether both are equal except for the access time.
    fileprivate func isSame(as other: Cookie) -> Bool {
        var other = other
        other.lastAccessed = lastAccessed
        return self == other
    }
}
