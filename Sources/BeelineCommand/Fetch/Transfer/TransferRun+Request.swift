// SPDX-License-Identifier: Apache-2.0

import Beeline

/// The request of an attempt.
extension TransferRun {
    /// Sends the request and records its hops and heads.
    ///
    /// - Throws: ``CommandFailure`` if there is no response, or its heads are too large.
    func send(_ state: inout State) async throws(CommandFailure) -> Response {
        let url = try transfer.url.get()
        let (request, body) = try request(state)
        let (options, content) = (options, content(of: body))
        let result: Result<Response, BeelineError>
        do throws(BeelineError) {
            let response = try await client.send(request, to: url, body: content, options: options)
            state.record.hops = response.hops
            result = .success(response)
        } catch {
            state.record.hops = error.hops
            result = .failure(error)
        }
        printVerbose(state.record.hops)
        let heads = received.take()
        (state.record.heads, state.record.headBytes) = (heads.heads, heads.size)
        state.record.isHeadBroken = heads.isBroken
        if state.record.hops.contains(where: \.hasLargeField) {
            throw CommandFailure(.fieldsTooLarge, "\(transfer.shownURL): a field of the response has more than 100 KiB")
        }
        try dump(state.record.heads)
        if state.record.headBytes > HeadLog.limit {
            if plan.includesHead { try writeHeads(&state) }
            throw CommandFailure(.tooLarge, "the response heads have more than \(HeadLog.limit) bytes in all")
        }
        switch result {
        case .success(let response): return response
        case .failure(let error):
            state.record.error = error
            if settings.isVerbose {
                VerboseLog.lines(error, wire: transfer.options.wire).forEach(Terminal.standardError.writeLine)
            }
            if plan.includesHead, !state.record.heads.isEmpty { try writeHeads(&state) }
            throw failure(error, of: body, state.record)
        }
    }

    /// The request and the body of this attempt.
    private func request(_ state: State) throws(CommandFailure) -> (HTTPRequest, BodyPlan) {
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
        return (request, body)
    }

    /// The options of the transfer, with its time limit and the log of its heads.
    private var options: RequestOptions {
        var options = transfer.options
        // Parts with other limits may share the client.
        options.limits = plan.client.limits
        // They depend on the method, and parts with other methods share the client.
        options.redirectRules = plan.client.redirectRules
        options.onHead = { [received] in received.add($0) }
        options.wire.onBrokenHead = { [received] in received.add(broken: $0) }
        options.wire.onTunnelHead = { [received, plan, settings] head in
            received.add(head, isHidden: plan.command.proxy.hidesTunnelHeads)
            if settings.isVerbose { VerboseLog.lines(ofTunnel: head).forEach(Terminal.standardError.writeLine) }
        }
        return options
    }

    /// The body with its meter and the pace of `--limit-rate`.
    private func content(of body: BodyPlan) -> RequestBody {
        let content = body.requestBody(meter.upload, countsMemory: plan.speedLimit != nil)
        guard let rate = plan.rateLimit else { return content }
        return content.paced(inPiecesOf: Pace.slice(of: rate)) {
            let pace = Pace(rate)
            return { try await pace.wait(after: $0) }
        }
    }

    /// The failure of a request without a response, with curl's exit code.
    private func failure(_ error: BeelineError, of body: BodyPlan, _ record: TransferRecord) -> CommandFailure {
        if error.code == .bodyNotReplayable, record.lastHop?.httpVersion == "1.0", body.size(InputFiles.real) == nil {
            // As in curl, the first cause counts.
            return CommandFailure(.uploadFailed, "HTTP/1.0 cannot send a body of unknown length")
        }
        let failure = CommandFailure(error).naming(error, shownURL: transfer.shownURL)
        if plan.maxFileSize != nil, (error.underlyingError as? DirectHTTPError)?.hasTooLargeLength == true {
            // A number of more than 64 bits is larger than every limit.
            return CommandFailure(.tooLarge, "\(failure.message) (--max-filesize)")
        }
        if error.code == .connectionLost, failure.status == .emptyReply, record.isHeadBroken {
            return CommandFailure(.partialBody, failure.message)
        }
        // curl has separate exit codes for the kinds of proxies; the library has one error code.
        return error.code == .proxyRefused && error.proxy?.kind == .socks5
            ? CommandFailure(.proxyFailed, failure.message) : failure
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
}

extension Hop {
    /// Whether a field of the response has more than 100 KiB, the limit of curl.
    fileprivate var hasLargeField: Bool {
        response.headerFields.contains { $0.name.rawName.utf8.count + $0.value.utf8.count > 100 << 10 }
    }
}
