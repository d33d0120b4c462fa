// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Tells work on a blocking thread that its task was cancelled.
final class StopSignal: Sendable {
    private let state = NIOLockedValueBox(false)

    var isStopped: Bool { state.withLockedValue { $0 } }

    func stop() { state.withLockedValue { $0 = true } }

    /// Throws after ``stop()``.
    ///
    /// - Parameter path: The file of the work, for the error.
    func check(_ path: String) throws(StoreError) {
        guard !isStopped else { throw StoreError(.cancelled, path: path, "reading \(path) was cancelled") }
    }
}
