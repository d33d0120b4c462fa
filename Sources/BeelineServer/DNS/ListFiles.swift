// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers

/// The files of blocked and rewritten names, read again when they change.
final class ListFiles: Sendable {
    /// The rules of all files, and the versions that were read.
    struct Reading: Sendable {
        fileprivate(set) var rules: NameRules
        fileprivate var stamps: [FileStamp?]
    }

    private struct State {
        var rules: NameRules?
        var stamps: [FileStamp?] = []
        /// The stamps at the last check.
        var seen: [FileStamp?] = []
    }

    private let paths: [String]
    private let blockedAnswer: DNSServerConfiguration.BlockedAnswer
    private let state = NIOLockedValueBox(State())

    /// - Throws: ``ServerError`` with code `badList` for a file that cannot be read.
    init(_ paths: [String], blockedAnswer: DNSServerConfiguration.BlockedAnswer) throws(ServerError) {
        self.paths = paths
        self.blockedAnswer = blockedAnswer
        use(try read())
    }

    /// Nil without files.
    var rules: NameRules? { state.withLockedValue { $0.rules } }

    /// Reads all files if one has changed, and uses them. Returns whether it did. Call it at intervals: changed files
    /// are read once they have not changed since the previous call, because a program that writes a file may empty it
    /// first.
    func reload() throws(ServerError) -> Bool {
        let stamps = paths.map { FileStamp($0) }
        let mustRead = state.withLockedValue { state in
            defer { state.seen = stamps }
            return stamps != state.stamps && stamps == state.seen
        }
        guard mustRead else { return false }
        let result = Result { () throws(ServerError) in try read() }
        // A file changed during the read, so the content may be incomplete. It is read again at the next check.
        guard paths.map({ FileStamp($0) }) == stamps else { return false }
        // An invalid file is not read again until it changes.
        state.withLockedValue { $0.stamps = stamps }
        use(try result.get())
        return true
    }

    /// Reads all files without using them. Call ``use(_:)`` to use the result. Nil without files.
    func read() throws(ServerError) -> Reading? {
        guard !paths.isEmpty else { return nil }
        var rules = NameRules()
        rules.blockedAnswer = blockedAnswer
        // Takes the stamps before reading, so that a write during the read triggers another read.
        let stamps = paths.map { FileStamp($0) }
        for path in paths {
            guard let octets = content(ofFileAt: path), octets.count <= ZoneFile.maxOctets else {
                throw ServerError(
                    .badList,
                    "the list \(path) cannot be read, or has more than \(ZoneFile.maxOctets) octets"
                )
            }
            rules.add(parsing: String(decoding: octets, as: UTF8.self))
        }
        return Reading(rules: rules, stamps: stamps)
    }

    /// Uses the result of ``read()``.
    func use(_ reading: Reading?) {
        guard let reading else { return }
        state.withLockedValue { $0 = State(rules: reading.rules, stamps: reading.stamps, seen: reading.stamps) }
    }
}
