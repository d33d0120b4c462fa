// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

/// The response of an attempt.
extension TransferRun {
    /// Writes the response as the options say.
    func receive(
        _ response: Response,
        until deadline: ContinuousClock.Instant?,
        _ state: inout State
    ) async throws(CommandFailure) {
        let fields = response.fields
        let redirect = response.hops.dropLast().last { $0.status.kind == .redirection }
        let location = redirect?.response.headerFields[values: .location].first
        // A server and its proxy may both set a field. Joined values would be another name.
        state.sink.take(disposition: fields[values: .contentDisposition].first, location: location)
        state.record.path = state.sink.path
        if plan.includesHead { try writeHeads(&state) }
        if keepsFileForRetry(&state) { return await response.body.discard() }
        let isWanted = try await wantsBody(response, &state)
        // As in curl, -I fails as the download would.
        if isWanted || plan.command.request.head, let limit = plan.maxFileSize, let length = fields[.contentLength] {
            // A number of more than 64 bits is larger than every limit.
            guard (Int64(length) ?? .max) <= limit - state.kept else { throw Self.tooLarge(limit) }
        }
        if isWanted {
            try await write(response, until: deadline, &state)
        } else {
            await response.body.discard()
        }
        // Only now: the ETag of a body that was not written would prevent the next fetch of it.
        if let path = plan.command.transfer.etagSave { try saveETags(of: response.hops, to: ETagFile(path)) }
        if response.status.code >= 400, errorStatus == .failedWithBody { throw Self.httpError(response) }
    }

    private var errorStatus: OutputArguments.ErrorStatus { plan.command.output.errorStatus }

    /// Whether the transfer is retried after this response, so that its body is not needed. An output file then keeps its
    /// content, which the next response may confirm with status 304. Other outputs get the body, as in curl.
    private func keepsFileForRetry(_ state: inout State) -> Bool {
        guard !plan.includesHead, transfer.body.isReplayable, let path = state.sink.path,
            FileDescriptor.isRegular(path) || !FileDescriptor.exists(path)
        else { return false }
        state.wait = state.schedule.next(after: outcome(of: state))
        return state.wait != nil
    }

    /// Decides whether the body is written.
    ///
    /// - Throws: ``CommandFailure`` if the response does not fit the request (`-f`, `-C`).
    private func wantsBody(_ response: Response, _ state: inout State) async throws(CommandFailure) -> Bool {
        let status = response.status.code
        if state.offset > 0, !plan.command.request.head {
            let range = response.fields[.contentRange]
            let refusal = CommandFailure(
                .rangeFailed,
                "\(response.url) answered \(status): the server cannot resume at byte \(state.offset)"
            )
            switch ResumeDecision(status: status, contentRange: range, offset: state.offset) {
            case .append:
                guard state.keptTag == nil || [nil, state.keptTag].contains(response.fields[.eTag]) else {
                    throw CommandFailure(.rangeFailed, "\(response.url) changed during the transfer")
                }
            case .complete where state.kept > 0 && range.flatMap(ResumeDecision.size) == nil:
                // The failed attempt has shown that the file is not complete.
                throw refusal
            case .complete:
                state.record.isComplete = true
                return false
            case .mismatch(let what): throw CommandFailure(.rangeFailed, what)
            case .restart where status == 200 && state.keptTag != nil && state.kept == state.offset:
                // The resource has changed (If-Range), and the file has only bytes of this transfer.
                try state.sink.startOver()
                (state.offset, state.kept, state.keptTag) = (0, 0, nil)
            case .restart where state.keptTag == nil && range.flatMap(ResumeDecision.start) == state.offset:
                // As in curl, the range counts, whatever the status.
                break
            case .restart where response.fields[.contentLength] == "\(state.offset)":
                // The server ignored the range, but the file has as many bytes as the resource.
                state.record.isComplete = true
                return false
            case .restart, .refused:
                if status >= 400, errorStatus == .failed { throw Self.httpError(response) }
                // As in curl, a response without a body does not fail.
                if status != 200, await hasNoBody(response) { return false }
                throw refusal
            }
        }
        if status >= 400, errorStatus == .failed { throw Self.httpError(response) }
        if plan.command.request.head { return false }
        if status == 200, let condition = plan.condition, !condition.isMet(by: response.fields) {
            // The server ignored the condition. As in curl, this counts as status 304.
            state.record.isUnmodified = true
            return false
        }
        return true
    }

    private func hasNoBody(_ response: Response) async -> Bool {
        if [204, 304].contains(response.status.code) { return true }
        var pieces = response.body.makeAsyncIterator()
        do { return try await pieces.next() == nil } catch { return false }
    }

    private func write(
        _ response: Response,
        until deadline: ContinuousClock.Instant?,
        _ state: inout State
    ) async throws(CommandFailure) {
        meter.start(response, path: state.sink.path, offset: state.offset)
        let pace = plan.rateLimit.map { Pace($0, until: deadline) }
        let slice = plan.rateLimit.map(Pace.slice) ?? .max
        var pieces = response.body.makeAsyncIterator()
        let problem = plan.client.decodesContent ? response.codingProblem : nil
        let isDecoded = plan.client.decodesContent && response.fields[.contentEncoding] != nil
        defer { if isDecoded { state.record.encoded = response.receivedBytes } }
        do {
            while let piece = try await pieces.next() {
                if let problem { throw problem }
                // A short body that is complete may expand to gigabytes.
                if isDecoded, let deadline, deadline <= .now { throw Pace.late }
                // Splits the piece into at most the bytes of one second, so that a slow transfer shows progress and -Y
                // does not end it.
                var rest = piece
                while let part = rest.readSlice(length: min(slice, rest.readableBytes)) {
                    try write(part, isDecoded: isDecoded, &state)
                    meter.received(state.sink.written)
                    try await pace?.wait(after: state.sink.written)
                    if rest.readableBytes == 0 { break }
                }
            }
            try writeTrailers(response.trailers, &state)
            state.record.bodyTime = response.timings.body
        } catch {
            if let failure = error as? CommandFailure { throw failure }
            if error is CancellationError { throw Self.interrupted }
            guard let error = error as? DirectHTTPError else { throw CommandFailure(.internalFault, "\(error)") }
            state.record.error = BeelineError(error.code, error.message, hops: state.record.hops)
            throw CommandFailure(body: error, of: response.url)
        }
    }

    /// Writes a piece of the body. As in curl, the output never exceeds `--max-filesize`, and a decoded piece is not cut.
    private func write(_ piece: ByteBuffer, isDecoded: Bool, _ state: inout State) throws(CommandFailure) {
        guard let limit = plan.maxFileSize, Int64(piece.readableBytes) > limit - state.kept - state.sink.written
        else {
            return try state.sink.write(piece)
        }
        let room = max(0, Int(limit - state.kept - state.sink.written))
        if room > 0, !isDecoded, let allowed = piece.getSlice(at: piece.readerIndex, length: room) {
            try state.sink.write(allowed)
        }
        throw Self.tooLarge(limit)
    }

    private static func tooLarge(_ limit: Int64) -> CommandFailure {
        CommandFailure(.tooLarge, "the body has more than \(limit) bytes (--max-filesize)")
    }

    private static func httpError(_ response: Response) -> CommandFailure {
        CommandFailure(.httpError, "\(response.url) answered \(response.status.code)")
    }
}

extension Response {
    /// The failure of a body with codings that this build does not decode, although the request offered only supported
    /// ones, as in curl. Nil if the body is decoded, or if `--compressed` is not in effect.
    fileprivate var codingProblem: CommandFailure? {
        guard hop.request.headerFields[.acceptEncoding] == ContentCoding.offer,
            let field = hop.response.headerFields[.contentEncoding], ContentCoding.list(fieldValue: field).isEmpty,
            !ContentCoding.names(fieldValue: field).isEmpty
        else { return nil }
        return CommandFailure(
            .undecodableBody,
            "\(url): the body has the coding \(field.singleLine), and this program decodes at most two of \(ContentCoding.offer)"
        )
    }
}
