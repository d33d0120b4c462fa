// SPDX-License-Identifier: Apache-2.0

import Beeline

// Another attempt of a transfer.

extension TransferRun {
    /// Whether another attempt would repeat no output. Bytes of an incomplete body cannot be removed from a pipe. Only
    /// `--retry-all-errors` accepts that.
    func canRepeat(_ state: State) -> Bool {
        // The reader of standard output is gone, so another attempt would be for nothing.
        guard transfer.body.isReplayable, state.record.failure?.isQuiet != true else { return false }
        return [.ok, .httpError].contains(state.record.status) || state.sink.written == 0 || state.sink.canTakeBack
            || plan.retries.includesAllErrors
    }

    /// Prepares the state and the output for the next attempt.
    func prepareRetry(_ state: inout State) throws(CommandFailure) {
        let retries = state.record.retries + 1
        if transfer.resume == .whereFileEnds, transfer.upload == nil, canKeepBytes(state) {
            state.kept += state.sink.written
            state.keptTag = state.record.lastHop?.strongTag ?? state.keptTag
            state.offset = state.sink.keep()
        } else {
            try state.sink.takeBack()
        }
        (state.retryAfter, state.wait) = (nil, nil)
        state.record = TransferRecord(transfer, retries: retries)
        state.record.path = state.sink.path
    }

    /// Whether the next attempt may append to the bytes of a failed one, because the server can resume.
    private func canKeepBytes(_ state: State) -> Bool {
        guard !plan.draft.isPost, state.sink.written > 0, state.sink.canTakeBack, !plan.includesHead,
            let hop = state.record.lastHop, hop.method == .get, state.record.status != .writeFailed,
            state.record.status != .rangeFailed,
            // A range counts encoded bytes, and the file has decoded ones.
            !plan.client.decodesContent || hop.response.headerFields[.contentEncoding] == nil
        else { return false }
        return hop.status == .partialContent
            || hop.status == .ok && hop.response.headerFields[.acceptRanges]?.lowercased() == "bytes"
    }

    func outcome(of state: State) -> FetchRetries.Attempt {
        let refused = state.record.error?.attempts ?? []
        return FetchRetries.Attempt(
            status: state.record.status,
            responseStatus: state.record.lastHop?.status.code,
            retryAfter: state.retryAfter,
            isRefused: !refused.isEmpty && refused.allSatisfy { $0.isRefused },
            elapsed: begin.duration(to: .now)
        )
    }
}

extension Hop {
    /// The ETag of the response if it is strong (RFC 9110 §8.8.3); nil otherwise.
    fileprivate var strongTag: String? { response.headerFields[.eTag].flatMap { $0.hasPrefix("\"") ? $0 : nil } }
}

extension Attempt {
    /// Whether the endpoint refused the connection.
    fileprivate var isRefused: Bool {
        guard case .failed(let code, let reason) = outcome else { return false }
        return code == .connectFailed && reason.contains("refused")
    }
}
