// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The names of a jar's keys on the server.
struct JarKeys: Hashable, Sendable {
    /// The maximum length of a jar's name.
    static let maxName = 200

    /// The start of all names, with the hash tag that keeps them on one shard of a cluster.
    let base: String

    /// Nil for a name that is empty, too long, or has characters other than letters, digits and `-_.@/`.
    init?(prefix: String, name: String) {
        let isValid = name.utf8.allSatisfy { octet in
            (0x30...0x39).contains(octet) || (0x41...0x5a).contains(octet) || (0x61...0x7a).contains(octet)
                || "-_.@/".utf8.contains(octet)
        }
        guard isValid, !name.isEmpty, name.utf8.count <= Self.maxName, !prefix.contains(where: { "{}".contains($0) })
        else { return nil }
        base = "{\(prefix)jar:\(name)}:"
    }

    private func key(_ name: String) -> [UInt8] { Array("\(base)\(name)".utf8) }

    /// The records by field.
    var cookies: [UInt8] { key("cookies") }
    /// The stream of changes.
    var feed: [UInt8] { key("feed") }
    /// The counters.
    var state: [UInt8] { key("state") }
    /// The keys of ``JarScripts/write``.
    var written: [[UInt8]] { ["cookies", "expiries", "deletions", "feed", "state"].map(key) }
    /// The lease of one login, and the counter of its fences.
    func lease(_ label: String) -> [[UInt8]] { ["lease:\(label)", "fence:\(label)"].map(key) }
}
#endif
