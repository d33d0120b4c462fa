// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension TransferRun {
    /// Makes one attempt, and ends it if it is slower than `-Y` allows.
    func attempt(_ state: State) async -> State {
        guard let limit = plan.speedLimit else { return await attemptOnce(state) }
        return await withTaskGroup(of: State?.self) { group in
            group.addTask { await attemptOnce(state) }
            group.addTask {
                await meter.waitUntilSlow(limit)
                return nil
            }
            var isSlow = false
            for await result in group {
                // The first result ends the other task.
                group.cancelAll()
                guard var result else {
                    isSlow = !Task.isCancelled
                    continue
                }
                if isSlow, result.record.failure != nil {
                    result.record.failure = CommandFailure(
                        .timedOut,
                        "\(transfer.shownURL): slower than \(limit.speed) bytes per second for \(Int(limit.time.seconds)) s"
                    )
                }
                return result
            }
            return state
        }
    }

    private func attemptOnce(_ state: State) async -> State {
        var state = state
        let deadline = plan.maxTime.map { ContinuousClock.now + $0 }
        do throws(CommandFailure) {
            let response = try await send(&state)
            state.retryAfter = RetryAfter.wait(response.fields, now: Int64(time(nil)))
            try await receive(response, until: deadline, &state)
        } catch {
            state.record.failure = error
        }
        state.record.received = state.sink.written
        return state
    }

    // MARK: The request

    private func send(_ state: inout State) async throws(CommandFailure) -> Response {
        let url = try transfer.url.get()
        var (request, body) = (transfer.request, transfer.body)
        if transfer.upload != nil {
            try resumeUpload(&request, &body)
        } else if state.offset > 0 {
            request.headerFields[.range] = "bytes=\(state.offset)-"
            // Another version of the resource must not be appended (RFC 9110 §13.1.5).
            if let tag = state.keptTag, state.kept > 0 { request.headerFields[.ifRange] = tag }
        }
        if plan.command.transfer.range != nil, body != .none { Self.announceRange(of: body, &request) }
        plan.condition?.apply(to: &request.headerFields)
        var options = transfer.options
        var limits = plan.client.limits
        limits.total = plan.maxTime
        options.limits = limits
        options.onHead = { [received] in received.add($0) }
        options.wire.onBrokenHead = { [received] in received.add(broken: $0) }
        options.wire.onTunnelHead = { [received, plan, settings] head in
            received.add(head, isHidden: plan.hidesTunnelHeads)
            if settings.isVerbose { VerboseLog.notes(ofTunnel: head).forEach(Terminal.standardError.writeLine) }
        }
        var content = body.requestBody(meter.upload, countsMemory: plan.speedLimit != nil)
        if let rate = plan.rateLimit {
            content = content.paced(inPiecesOf: Pace.slice(of: rate)) {
                let pace = Pace(rate)
                return { try await pace.wait(after: $0) }
            }
        }
        let result = await Self.result { [request, options, content] () async throws(BeelineError) in
            try await client.send(request, to: url, body: content, options: options)
        }
        switch result {
        case .success(let response): state.record.hops = response.hops
        case .failure(let error): state.record.hops = error.hops
        }
        tell(state.record.hops)
        let heads = received.take()
        (state.record.heads, state.record.headBytes) = (heads.heads, heads.size)
        state.record.isHeadBroken = heads.isBroken
        if state.record.hops.contains(where: \.hasLargeField) {
            throw CommandFailure(.fieldsTooLarge, "\(transfer.shownURL): a field of the response has more than 100 KiB")
        }
        try dump(state.record.heads)
        if state.record.headBytes > HeadLog.limit {
            throw CommandFailure(.tooLarge, "the response heads have more than \(HeadLog.limit) bytes in all")
        }
        switch result {
        case .success(let response): return response
        case .failure(let error):
            state.record.error = error
            if settings.isVerbose { VerboseLog.lines(error).forEach(Terminal.standardError.writeLine) }
            if plan.includesHead, !state.record.heads.isEmpty { try writeHeads(&state) }
            if error.code == .bodyNotReplayable, state.record.lastHop?.httpVersion == "1.0",
                body.size(InputFiles.real) == nil
            {
                // As in curl, the first cause counts.
                throw CommandFailure(.uploadFailed, "HTTP/1.0 cannot send a body of unknown length")
            }
            let failure = CommandFailure(error).naming(error, shownURL: transfer.shownURL)
            if plan.maxFileSize != nil, (error.underlyingError as? DirectHTTPError)?.hasTooLargeLength == true {
                // A number of more than 64 bits is larger than every limit.
                throw CommandFailure(.tooLarge, "\(failure.message) (--max-filesize)")
            }
            if error.code == .connectionLost, failure.status == .emptyReply, state.record.isHeadBroken {
                throw CommandFailure(.partialBody, failure.message)
            }
            // curl has separate exit codes for the kinds of proxies; the library has one error code.
            throw error.code == .proxyRefused && error.proxy?.kind == .socks5
                ? CommandFailure(.proxyFailed, failure.message) : failure
        }
    }

    private static func result(
        _ send: () async throws(BeelineError) -> Response
    ) async -> Result<Response, BeelineError> {
        do {
            return .success(try await send())
        } catch {
            return .failure(error)
        }
    }

    /// `-r` with a body: says which part of the resource the body is, as curl does (RFC 9110 §14.5). All of the body is sent.
    private static func announceRange(of body: BodyPlan, _ request: inout HTTPRequest) {
        guard let range = request.headerFields[.range] else { return }
        request.headerFields[.range] = nil
        let size = body.size(InputFiles.real).map { String($0) } ?? "*"
        request.headerFields[.contentRange] = range.replacing("=", with: " ") + "/" + size
    }

    /// `-T` with `-C`: sends the file from an offset, with the range in Content-Range, as curl does.
    private func resumeUpload(_ request: inout HTTPRequest, _ body: inout BodyPlan) throws(CommandFailure) {
        let offset: Int64
        switch transfer.resume {
        case nil, .at(0): return
        case .at(let start): offset = start
        // The server is not asked which bytes it has, so all are sent.
        case .whereFileEnds: offset = 0
        }
        let (content, isChunked) = if case .chunked(let content) = body { (content, true) } else { (body, false) }
        guard case .file(let path) = content else {
            if offset == 0 { return }
            throw CommandFailure(.readFailed, "-C: only a file can be sent from byte \(offset) on")
        }
        // An empty file is sent as a whole. The client reports a file that is missing.
        guard let size = InputFiles.real.size(path), offset > 0 || size > 0 else { return }
        guard offset < size else {
            throw CommandFailure(.readFailed, "-C: \(path) has only \(size) bytes")
        }
        request.headerFields[.contentRange] = "bytes \(offset)-\(size - 1)/\(size)"
        guard offset > 0 else { return }
        let tail = BodyPlan.fileTail(path, from: offset, length: size - offset)
        body = isChunked ? .chunked(tail) : tail
    }

    /// Writes the response heads to the output.
    private func writeHeads(_ state: inout State) throws(CommandFailure) {
        for head in state.record.heads { try state.sink.write(head: head) }
    }

    // MARK: The response

    private func receive(
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
        if try await wantsBody(response, &state) {
            if let limit = plan.maxFileSize, let length = fields[.contentLength] {
                // A number of more than 64 bits is larger than every limit.
                guard (Int64(length) ?? .max) <= limit - state.kept else { throw Self.tooLarge(limit) }
            }
            try await write(response, until: deadline, &state)
        } else {
            await response.body.discard()
        }
        // Only now: the ETag of a body that was not written would prevent the next fetch of it.
        if let path = plan.etagSave { try saveETags(of: response.hops, to: ETagFile(path)) }
        if response.status.code >= 400, plan.errorStatus == .failedWithBody { throw Self.httpError(response) }
    }

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
        if state.offset > 0, !plan.dropsBody {
            let range = response.fields[.contentRange]
            switch ResumeDecision(status: status, contentRange: range, offset: state.offset) {
            case .append:
                guard state.keptTag == nil || [nil, state.keptTag].contains(response.fields[.eTag]) else {
                    throw CommandFailure(.rangeFailed, "\(response.url) changed during the transfer")
                }
            case .complete where state.kept > 0 && range.flatMap(ResumeDecision.size) == nil:
                // The failed attempt has shown that the file is not complete.
                throw CommandFailure(
                    .rangeFailed,
                    "\(response.url) answered \(status): the server cannot resume at byte \(state.offset)"
                )
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
                if status >= 400, plan.errorStatus == .failed { throw Self.httpError(response) }
                // As in curl, a response without a body does not fail.
                if status != 200, await hasNoBody(response) { return false }
                throw CommandFailure(
                    .rangeFailed,
                    "\(response.url) answered \(status): the server cannot resume at byte \(state.offset)"
                )
            }
        }
        if status >= 400, plan.errorStatus == .failed { throw Self.httpError(response) }
        if plan.dropsBody { return false }
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
        let problem = response.codingProblem
        let isDecoded = plan.client.decodesContent && response.fields[.contentEncoding] != nil
        do {
            while let piece = try await pieces.next() {
                if let problem { throw problem }
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
            if error is CancellationError { throw CommandFailure(.interrupted, "interrupted") }
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

    // MARK: Heads and trailers

    private func dump(_ heads: [ByteBuffer]) throws(CommandFailure) {
        guard let file = self.heads, let dump = plan.dumpHeader else { return }
        for head in heads { try dump.write(head, to: file) }
    }

    /// Writes the trailers after the body, as curl does: for `-i` to the output, for `-D` to its file.
    private func writeTrailers(_ trailers: HTTPFields?, _ state: inout State) throws(CommandFailure) {
        guard let trailers else { return }
        var lines = ByteBuffer()
        for field in trailers {
            lines.writeString("\(field.name.rawName): ")
            // A value may have octets that are not UTF-8.
            field.withUnsafeBytesOfValue { _ = lines.writeBytes($0) }
            lines.writeString("\r\n")
        }
        if plan.includesHead { try state.sink.write(head: lines) }
        try dump([lines])
    }

    /// Saves the last ETag of the responses. A response without an ETag does not change it.
    private func saveETags(of hops: [Hop], to file: ETagFile) throws(CommandFailure) {
        let tag = hops.last {
            (200..<400).contains($0.status.code) && $0.response.headerFields[.eTag]?.isEmpty == false
        }
        guard let tag = tag?.response.headerFields[.eTag] else { return }
        try file.save(tag)
    }

    private func tell(_ hops: [Hop]) {
        guard settings.isVerbose else { return }
        for line in hops.flatMap(VerboseLog.lines) {
            Terminal.standardError.writeLine(Terminal.standardError.dim(line.singleLine))
        }
    }
}

extension Hop {
    /// Whether a field of the response has more than 100 KiB, the limit of curl.
    fileprivate var hasLargeField: Bool {
        response.headerFields.contains { $0.name.rawName.utf8.count + $0.value.utf8.count > 100 << 10 }
    }
}
