// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers

/// What files hold, read again when they change. Content that becomes invalid keeps the previous one in use.
final class ReloadedFiles<Content: Sendable>: Sendable {
    /// Content that was read, and the versions of its files.
    struct Reading: Sendable {
        fileprivate let content: Content
        fileprivate let changes: FileChanges
    }

    private struct State: Sendable {
        var content: Content
        /// Compares the files with the last valid content.
        var changes: FileChanges
        /// The stamps of the invalid content that was reported.
        var failed: FileChanges.Stamps?
    }

    private let paths: [String]
    private let retries: Bool
    private let load: @Sendable () throws(ServerError) -> Content
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - retries: Whether invalid content is read again although its files stay the same: the failure may be of the
    ///     system. Otherwise it is not read again until a file changes.
    ///   - load: Reads the files.
    init(
        _ paths: [String],
        retries: Bool,
        load: @escaping @Sendable () throws(ServerError) -> Content
    ) throws(ServerError) {
        self.paths = paths
        self.retries = retries
        self.load = load
        let changes = FileChanges(read: FileChanges.stamps(of: paths))
        state = NIOLockedValueBox(State(content: try load(), changes: changes))
    }

    var content: Content { state.withLockedValue { $0.content } }

    /// Reads the files without using them. Call ``use(_:)`` to use the result.
    func read() throws(ServerError) -> Reading {
        let changes = FileChanges(read: FileChanges.stamps(of: paths))
        return Reading(content: try load(), changes: changes)
    }

    /// Uses the result of ``read()``.
    func use(_ reading: Reading) {
        state.withLockedValue { $0 = State(content: reading.content, changes: reading.changes) }
    }

    /// Reads changed files and uses their content. Returns whether it did. Call it at intervals: files are read when
    /// they have not changed since the previous call, because programs write several files one after the other.
    ///
    /// - Throws: ``ServerError``, once for each change.
    @discardableResult
    func reload() throws(ServerError) -> Bool {
        let stamps = FileChanges.stamps(of: paths)
        let (mustRead, isReported) = state.withLockedValue { state in
            let mustRead = state.changes.mustRead(stamps)
            if stamps == state.changes.read { state.failed = nil }
            let isReported = stamps == state.failed
            // A pipe can be read only once, and a file that is missing gets another stamp.
            let isFinal = isReported && (!retries || stamps.values.contains(nil))
            return (mustRead && !isFinal, isReported)
        }
        guard mustRead else { return false }
        let result = Result { () throws(ServerError) in try load() }
        // A file changed during the read, so the content may be incomplete. It is read again at the next check.
        guard FileChanges.stamps(of: paths) == stamps else { return false }
        do throws(ServerError) {
            use(Reading(content: try result.get(), changes: FileChanges(read: stamps)))
            return true
        } catch {
            state.withLockedValue { $0.failed = stamps }
            if !isReported { throw error }
            return false
        }
    }
}
