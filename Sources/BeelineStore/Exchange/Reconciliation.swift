// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Who has the last word where this process and others have changed cookies since they last met: for each cookie the
/// newest change. Nothing is read or written here.
struct Reconciliation: Hashable, Sendable {
    /// Changes of this process that go into the file.
    private(set) var written: [PendingChanges.Entry] = []
    /// Changes of others that go into the jar.
    private(set) var takenOver: [CookieRows.Change] = []

    /// Settles changes of this process against those that others have written since this one looked last.
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

    /// Settles all of a jar against all of a file, where this process does not know any more what it has changed.
    ///
    /// - Parameters:
    ///   - jar: The jar's cookies.
    ///   - file: The file's cookies.
    ///   - others: What others have written since this process looked last; it stays as they left it.
    ///   - updated: The time of all changes of this process.
    init(jar: [Cookie], file: [Cookie], others: [CookieRows.Change], updated: Int64) {
        let theirs = Set(others.map(\.key))
        var missing = Dictionary(file.map { (CookieKey($0), $0) }) { $1 }
        for cookie in jar {
            let key = CookieKey(cookie)
            let stored = missing.removeValue(forKey: key)
            if !theirs.contains(key), stored.map({ !$0.isSame(as: cookie) }) ?? true {
                written.append(PendingChanges.Entry(cookie: cookie, kind: .stored, updated: updated, order: updated))
            }
        }
        written += missing.filter { !theirs.contains($0.key) }.values
            .map { PendingChanges.Entry(cookie: $0, kind: .removed, updated: updated, order: updated) }
        takenOver = others
    }
}

extension Cookie {
    /// Whether both are the same but for the time of last access.
    fileprivate func isSame(as other: Cookie) -> Bool {
        var other = other
        other.lastAccessed = lastAccessed
        return self == other
    }
}
