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

/// Runs one transfer from the request to the last byte, with the plan's retries.
struct TransferRun {
    let plan: FetchPlan
    let client: BeelineClient
    let transfer: Transfer
    /// The output of `-D`. It stays open for all transfers, because closing a pipe would end its reader.
    private let heads: OutputSink
    private let received: HeadLog
    private let meter = UploadMeter()
    private let begin = ContinuousClock.now

    init(plan: FetchPlan, client: BeelineClient, transfer: Transfer, heads: OutputSink) {
        self.plan = plan
        self.client = client
        self.transfer = transfer
        self.heads = heads
        received = HeadLog(keepsHeads: plan.includesHead || plan.dumpHeader != nil)
    }

    /// Runs the transfer and prints the output of the plan.
    func run() async -> TransferRecord {
        var record = TransferRecord(transfer)
        var schedule = FetchRetries(retries: plan.retries, delay: plan.retryDelay)
        let sizeBefore = resumedFile.map { InputFiles.real.size($0) ?? 0 }
        var isRestarted = false
        while true {
            let wait = await attempt(record: &record, schedule: &schedule, isRestarted: &isRestarted)
            guard let wait, !Task.isCancelled else { break }
            note("\(record.failure?.message ?? "the server answered \(record.lastHop?.status.code ?? 0)")")
            note("retrying in \(wait.seconds) s, \(plan.retries - record.retries) retries left")
            record = TransferRecord(transfer, retries: record.retries + 1)
            do { try await Task.sleep(for: wait) } catch { break }
            // The next attempt requests the same byte range, so remove the bytes that this attempt appended.
            guard let file = resumedFile, let sizeBefore, !isRestarted else { continue }
            do {
                try FileDescriptor.truncate(file, to: sizeBefore)
            } catch {
                record.failure = CommandFailure(.writeFailed, "the file \(file) cannot be truncated: \(error)")
                break
            }
        }
        record.total = begin.duration(to: .now)
        record.sent = sentBytes(record)
        record.isUnverified = !plan.client.tls.verifiesCertificate
        tell(&record)
        return record
    }

    /// Makes one attempt. Returns the delay before the next attempt; nil if this one is final.
    ///
    /// - Parameter isRestarted: whether an attempt with `-C N` rewrote the whole file. The file then no longer ends at byte N,
    ///   so later attempts request the whole file too.
    private func attempt(
        record: inout TransferRecord,
        schedule: inout FetchRetries,
        isRestarted: inout Bool
    ) async -> Duration? {
        let response: Response
        let offset: Int64
        do {
            offset = isRestarted ? 0 : try resumeOffset()
            response = try await send(from: offset, record: &record)
        } catch {
            record.failure = error
            return transfer.body.isReplayable ? schedule.next(after: error.status, responseStatus: nil) : nil
        }
        if transfer.body.isReplayable,
            let wait = schedule.next(
                after: .ok,
                responseStatus: response.status.code,
                retryAfter: RetryAfter.wait(response.fields, now: Int64(time(nil)))
            )
        {
            await response.body.discard()
            do {
                // curl empties a file before the next attempt, but what it printed stays.
                if plan.includesHead, offset == 0, case .standardOutput = transfer.output { try writeHeads(of: record) }
            } catch {
                record.failure = error
                return nil
            }
            return wait
        }
        do {
            try await receive(response, from: offset, record: &record, isRestarted: &isRestarted)
            return nil
        } catch {
            record.failure = error
            if record.received > 0, !canTakeBack { return nil }
            guard transfer.body.isReplayable else { return nil }
            return schedule.next(after: error.status, responseStatus: nil)
        }
    }

    // MARK: The request

    private func send(from offset: Int64, record: inout TransferRecord) async throws(CommandFailure) -> Response {
        var request = transfer.request
        if offset > 0 { request.headerFields[.range] = "bytes=\(offset)-" }
        var options = transfer.options
        options.onHead = { [received] in received.add($0) }
        options.onTunnelHead = { [received, plan] head in
            if !plan.hidesTunnelHeads { received.add(head) }
            if plan.isVerbose { VerboseLog.notes(ofTunnel: head).forEach(Terminal.standardError.writeLine) }
        }
        let result = await Self.result { () async throws(BeelineError) in
            try await client.send(request, to: transfer.url, body: transfer.body.requestBody(meter), options: options)
        }
        switch result {
        case .success(let response): record.hops = response.hops
        case .failure(let error): record.hops = error.hops
        }
        tell(record.hops)
        (record.heads, record.headBytes) = received.take()
        try dump(record.heads)
        if record.headBytes > HeadLog.limit {
            throw CommandFailure(.tooLarge, "the response heads have more than \(HeadLog.limit) bytes in all")
        }
        switch result {
        case .success(let response): return response
        case .failure(let error):
            record.error = error
            if plan.isVerbose { VerboseLog.lines(error.attempts).forEach(Terminal.standardError.writeLine) }
            if plan.includesHead, offset == 0, !record.heads.isEmpty { try writeHeads(of: record) }
            let failure = CommandFailure(error)
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

    /// Writes the heads of a request that failed.
    private func writeHeads(of record: TransferRecord) throws(CommandFailure) {
        var sink = OutputSink(transfer.output)
        try sink.open(.truncate)
        for head in record.heads { try sink.write(head: head) }
        try sink.close()
    }

    /// Whether the output can be rewritten; false for standard output, pipes and devices.
    private var canTakeBack: Bool {
        guard case .file(let path) = transfer.output else { return false }
        return FileDescriptor.isRegular(path)
    }

    /// The file that `-C N` appends to.
    private var resumedFile: String? {
        guard case .at = transfer.resume, case .file(let path) = transfer.output else { return nil }
        return path
    }

    /// Returns the first byte to request; 0 requests the whole.
    private func resumeOffset() throws(CommandFailure) -> Int64 {
        switch transfer.resume {
        case nil: return 0
        case .at(let offset): return offset
        case .whereFileEnds:
            guard case .file(let path) = transfer.output else {
                throw CommandFailure(.usage, "-C - needs a file to resume: add -o FILE or -O")
            }
            return InputFiles.real.size(path) ?? 0
        }
    }

    // MARK: The response

    private func receive(
        _ response: Response,
        from offset: Int64,
        record: inout TransferRecord,
        isRestarted: inout Bool
    ) async throws(CommandFailure) {
        let isError = response.status.code >= 400
        if isError, plan.errorStatus == .failed {
            await response.body.discard()
            if plan.includesHead, offset == 0 { try writeHeads(of: record) }
            throw Self.httpError(response)
        }
        var mode = FileDescriptor.Mode.truncate
        if offset > 0 {
            let range = response.fields[.contentRange]
            switch ResumeDecision(status: response.status.code, contentRange: range, offset: offset) {
            case .append: mode = .append
            case .restart:
                if resumedFile != nil { isRestarted = true }
                note("the server cannot resume at byte \(offset): downloading \(transfer.url) from the start")
            case .complete: return await response.body.discard()
            case .mismatch(let what): throw CommandFailure(.rangeFailed, what)
            case .refused(let status):
                throw CommandFailure(
                    .httpError,
                    "the server answered \(status): the existing file was left unchanged"
                )
            }
        }
        try await write(response, mode: mode, offset: offset, record: &record)
        if isError, plan.errorStatus == .failedWithBody { throw Self.httpError(response) }
    }

    private func write(
        _ response: Response,
        mode: FileDescriptor.Mode,
        offset: Int64,
        record: inout TransferRecord
    ) async throws(CommandFailure) {
        var sink = OutputSink(transfer.output)
        try sink.open(mode)
        if plan.includesHead {
            for head in record.heads { try sink.write(head: head) }
        }
        guard !plan.dropsBody else {
            await response.body.discard()
            return try sink.close()
        }
        var progress = ProgressDisplay(
            plan: plan,
            transfer: transfer,
            response: response,
            offset: mode == .append ? offset : 0
        )
        var pieces = response.body.makeAsyncIterator()
        let problem = response.codingProblem
        do {
            while let piece = try await pieces.next() {
                if let problem { throw problem }
                try sink.write(piece)
                record.received = sink.written
                progress?.show(sink.written)
            }
            progress?.finish(sink.written)
            try writeTrailers(response.trailers, to: sink)
            record.bodyTime = response.timings.body
        } catch {
            progress?.finish(sink.written)
            try? sink.close()
            if let failure = error as? CommandFailure { throw failure }
            guard let error = error as? DirectHTTPError else { throw CommandFailure(.internalFault, "\(error)") }
            record.error = BeelineError(error.code, error.message, hops: record.hops)
            throw CommandFailure(body: error, of: response.url)
        }
        try sink.close()
    }

    /// Writes heads or trailers to the output of `-D`.
    private func dump(_ heads: [ByteBuffer]) throws(CommandFailure) {
        guard plan.dumpHeader != nil else { return }
        for head in heads { try self.heads.write(head: head) }
    }

    /// Writes the trailers behind the body, as curl does: for `-i` to the output, for `-D` to its file.
    private func writeTrailers(_ trailers: HTTPFields?, to sink: OutputSink) throws(CommandFailure) {
        guard let trailers else { return }
        var lines = ByteBuffer()
        for field in trailers {
            lines.writeString("\(field.name.rawName): ")
            // A value may have octets that are not UTF-8.
            field.withUnsafeBytesOfValue { _ = lines.writeBytes($0) }
            lines.writeString("\r\n")
        }
        if plan.includesHead { try sink.write(head: lines) }
        try dump([lines])
    }

    private static func httpError(_ response: Response) -> CommandFailure {
        CommandFailure(.httpError, "\(response.url) answered \(response.status.code)")
    }

    // MARK: Telling

    private func tell(_ hops: [Hop]) {
        guard plan.isVerbose else { return }
        for line in hops.flatMap(VerboseLog.lines) {
            Terminal.standardError.writeLine(Terminal.standardError.dim(line.singleLine))
        }
    }

    private func note(_ text: String) {
        if !plan.isSilent, !plan.reports { Terminal.standardError.writeLine("beeline: \(text.singleLine)") }
    }

    /// Prints the output of `-w`, the error and the report.
    private func tell(_ record: inout TransferRecord) {
        if let output = plan.writeOut?.output(record) {
            do {
                try StandardOutput.write(output.standardOutput.utf8)
            } catch {
                record.failure = record.failure ?? error
            }
            Terminal.standardError.write(output.standardError)
        }
        if plan.reports {
            // With `--report`, standard error contains only the report, so that a program can parse it.
            Terminal.standardError.writeLine(JSONOutput.line(FetchReport(record)))
        } else if plan.showsErrors, !Task.isCancelled {
            record.failure?.print()
        }
    }

    private func sentBytes(_ record: TransferRecord) -> Int64 {
        guard let last = record.hops.last, last.method == record.hops.first?.method else { return meter.count }
        switch transfer.body {
        case .bytes: return transfer.body.size(.real) ?? 0
        default: return meter.count
        }
    }
}
