// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
import Beeline
import Foundation
import FoundationNetworking
import NIOConcurrencyHelpers

/// Reports the upload progress of a body to a task's delegate.
///
/// Calls are merged for a slow delegate: at most one call is queued.
final class UploadProgress: Sendable {
    private let delegate: DelegateOfTask
    private let state = NIOLockedValueBox(State())

    private struct State {
        var sent: Int64 = 0
        var total: Int64?
        var told: Int64 = 0
        var isWaiting = false
    }

    init(_ delegate: DelegateOfTask) { self.delegate = delegate }

    /// Records how many bytes were passed to the connection.
    func report(_ progress: TransferProgress) {
        let isFirst = state.withLockedValue { state in
            // The body is sent again from its start.
            if progress.transferred <= state.sent { state.told = 0 }
            (state.sent, state.total) = (progress.transferred, progress.total)
            defer { state.isWaiting = true }
            return !state.isWaiting
        }
        if isFirst { delegate.session.delegateQueue.addOperation { self.tell() } }
    }

    private func tell() {
        let (count, sent, total) = state.withLockedValue { state in
            defer { (state.told, state.isWaiting) = (state.sent, false) }
            return (state.sent - state.told, state.sent, state.total)
        }
        delegate.sent(count, of: total, in: sent)
    }
}
#endif
