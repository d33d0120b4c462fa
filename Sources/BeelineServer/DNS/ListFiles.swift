// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPDNS
import NIOConcurrencyHelpers

/// The files of blocked and rewritten names, read again when they change.
final class ListFiles: Sendable {
    /// The rules of all files, and the versions that were read.
    struct Reading: Sendable {
        fileprivate(set) var rules: NameRules
        fileprivate var changes: FileChanges
    }

    private struct State {
        var rules: NameRules?
        var changes = FileChanges(read: [:])
    }

    private let paths: [String]
    private let blockedAnswer: DNSServerConfiguration.BlockedAnswer
    private let maxNames: Int
    private let state = NIOLockedValueBox(State())

    /// - Throws: ``ServerError`` with code `badList` for a file that cannot be read, and for too many names.
    init(
        _ paths: [String],
        blockedAnswer: DNSServerConfiguration.BlockedAnswer,
        maxNames: Int = HostsTable.maxNames
    ) throws(ServerError) {
        self.paths = paths
        self.blockedAnswer = blockedAnswer
        self.maxNames = maxNames
        use(try read())
    }

    /// Nil without files.
    var rules: NameRules? { state.withLockedValue { $0.rules } }

    /// Reads all files if one has changed, and uses them. Returns whether it did. Call it at intervals: changed files
    /// are read once they have not changed since the previous call.
    func reload() throws(ServerError) -> Bool {
        let stamps = FileChanges.stamps(of: paths)
        guard state.withLockedValue({ $0.changes.mustRead(stamps) }) else { return false }
        let result = Result { () throws(ServerError) in try read() }
        // A file changed during the read, so the content may be incomplete. It is read again at the next check.
        guard FileChanges.stamps(of: paths) == stamps else { return false }
        // An invalid file is not read again until it changes.
        state.withLockedValue { $0.changes = FileChanges(read: stamps) }
        use(try result.get())
        return true
    }

    /// Reads all files without using them. Call ``use(_:)`` to use the result. Nil without files.
    func read() throws(ServerError) -> Reading? {
        guard !paths.isEmpty else { return nil }
        var rules = NameRules()
        rules.blockedAnswer = blockedAnswer
        let changes = FileChanges(read: FileChanges.stamps(of: paths))
        for path in paths {
            do throws(UnreadableFile) {
                rules.add(parsing: String(decoding: try content(ofFileAt: path).get(), as: UTF8.self))
            } catch {
                throw ServerError(.badList, "the list \(path) \(error.reason)")
            }
            // The table ignores further names.
            guard rules.nameCount < maxNames else {
                throw ServerError(.badList, "the lists up to \(path) have \(maxNames) names or more")
            }
        }
        return Reading(rules: rules, changes: changes)
    }

    func use(_ reading: Reading?) {
        guard let reading else { return }
        state.withLockedValue { $0 = State(rules: reading.rules, changes: reading.changes) }
    }
}
