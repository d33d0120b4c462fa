// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

extension EventLoopPromise where Value: Sendable {
    /// Waits for the promise; cancelling the task fails it.
    func outcome() async throws(UpstreamError) -> Value {
        do {
            return try await withTaskCancellationHandler {
                try await futureResult.get()
            } onCancel: {
                fail(UpstreamError(.cancelled, "the question was cancelled"))
            }
        } catch let error as UpstreamError {
            throw error
        } catch {
            throw UpstreamError(.unreachable, "the connection broke: \(TLSFault.explain(error))")
        }
    }
}
