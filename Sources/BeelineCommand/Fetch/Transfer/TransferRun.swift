// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Runs one transfer from the request to the last byte, with the plan's retries.
struct TransferRun: Sendable {
    let plan: FetchPlan
    let settings: SessionArguments
    let client: BeelineClient
    let transfer: Transfer
    /// The output of `-D`; nil without one. It stays open for all transfers of the part.
    let heads: FileDescriptor?
    let meter: TransferMeter
    let received: HeadLog
    private(set) var begin = ContinuousClock.now

    init(
        plan: FetchPlan,
        settings: SessionArguments,
        client: BeelineClient,
        transfer: Transfer,
        heads: FileDescriptor?,
        board: ProgressBoard
    ) {
        self.plan = plan
        self.settings = settings
        self.client = client
        self.transfer = transfer
        self.heads = heads
        received = HeadLog(keepsHeads: plan.includesHead || heads != nil)
        meter = board.meter(for: transfer, of: plan)
    }

    /// The state that one attempt of a transfer passes to the next.
    struct State: Sendable {
        var record: TransferRecord
        var sink: OutputSink
        /// The first byte to request; 0 requests the whole.
        var offset: Int64 = 0
        /// The number of body bytes in the file from failed attempts of this transfer. The next attempt appends to them.
        var kept: Int64 = 0
        /// The strong ETag of the response with these bytes; nil if it had none.
        var keptTag: String?
        var schedule: FetchRetries
        /// The time that the server asks to wait.
        var retryAfter: Duration?
        /// The wait before the next attempt, if the response already decided that there is one.
        var wait: Duration?
    }

    /// Runs the transfer, prints the output of the plan, and returns the exit status.
    func run() async -> CommandStatus {
        var run = self
        // The transfer may have waited for others since it was made.
        run.begin = .now
        return await run.runAttempts()
    }

    private func runAttempts() async -> CommandStatus {
        var state: State
        do {
            state = try start()
        } catch {
            var record = TransferRecord(transfer)
            record.failure = error
            return finish(record)
        }
        guard !state.record.isSkipped else { return finish(state.record) }
        while true {
            state = await attempt(state)
            guard canRepeat(state), let wait = state.wait ?? state.schedule.next(after: outcome(of: state)) else {
                break
            }
            guard !Task.isCancelled else {
                state.record.failure = state.record.failure ?? Self.interrupted
                break
            }
            note(state.record.failure?.message ?? "the server answered \(state.record.lastHop?.status.code ?? 0)")
            note("retrying in \(wait.seconds) s, \(state.schedule.left) retries left")
            do throws(CommandFailure) {
                try prepareRetry(&state)
            } catch {
                state.record.failure = error
                break
            }
            do {
                try await Task.sleep(for: wait)
            } catch {
                state.record.failure = Self.interrupted
                break
            }
        }
        end(&state)
        return finish(state.record)
    }

    static let interrupted = CommandFailure(.interrupted, "interrupted")
    static let resumedPost = CommandFailure(
        .usage,
        "-C excludes -d and -F: a response to a POST cannot be resumed"
    )

    // MARK: Before and after

    private func start() throws(CommandFailure) -> State {
        _ = try transfer.url.get()
        if let path = plan.command.transfer.etagSave {
            try ETagFile(path).create(createsFolders: plan.outputRules.createsFolders)
        }
        var state = State(
            record: TransferRecord(transfer),
            sink: OutputSink(transfer.output, rules: plan.outputRules),
            schedule: FetchRetries(plan.retries)
        )
        state.record.path = state.sink.path
        if plan.command.output.skipsExisting, let path = state.sink.path, FileDescriptor.exists(path) {
            curlNote("skips transfer, \"\(path)\" exists locally")
            state.record.isSkipped = true
            return state
        }
        guard transfer.upload == nil else { return state }
        switch transfer.resume {
        case nil: break
        case .at(let offset): state.offset = offset
        case .whereFileEnds: state.offset = state.sink.path.flatMap { InputFiles.real.size($0) } ?? 0
        }
        if state.offset > 0 {
            // A range is defined for GET only (RFC 9110 §14.2): a server would carry out the POST and send the whole.
            guard !plan.draft.isPost else { throw Self.resumedPost }
            state.sink = OutputSink(
                transfer.output,
                rules: plan.outputRules,
                offset: state.sink.path.flatMap { InputFiles.real.size($0) } ?? 0
            )
        }
        return state
    }

    /// Closes the output and sets or removes the file.
    private func end(_ state: inout State) {
        let isUnchanged = state.record.isUnmodified || state.record.lastHop?.status == .notModified
        do throws(CommandFailure) {
            // A response without a body leaves an empty file, unless the file already has the content (-z).
            if state.record.failure == nil, !state.record.isComplete, !isUnchanged { try state.sink.open() }
            try state.sink.close()
        } catch {
            state.record.failure = state.record.failure ?? error
        }
        state.record.path = state.sink.path
        guard let path = state.sink.path, FileDescriptor.isRegular(path) else { return }
        if state.record.failure != nil {
            if plan.command.output.removesOnError, state.sink.wasOpened, FileDescriptor.discard(path) {
                curlNote("Removed output file: \(path)")
            }
        } else if plan.command.output.setsRemoteTime, !isUnchanged {
            let dates = state.record.lastHop?.response.headerFields[values: .lastModified]
            let modified = dates?.first.flatMap(DateExpression.parse)
            if let modified, !FileDescriptor.setModified(path, to: modified) {
                note("the time of \(path) cannot be set")
            }
        }
    }

    /// Completes the record and prints the output of `-w`, the error and the report.
    private func finish(_ record: TransferRecord) -> CommandStatus {
        var record = record
        record.total = begin.duration(to: .now)
        record.sent = meter.uploaded(of: record)
        record.isUnverified = !plan.client.tls.verifiesCertificate
        meter.finish()
        if settings.report {
            Terminal.standardError.writeLine(JSONOutput.line(FetchReport(record)))
        } else if settings.printsErrors, !Task.isCancelled {
            record.failure?.print()
        }
        if let pieces = plan.writeOut?.pieces(record) {
            do throws(CommandFailure) {
                try WriteOut.write(pieces)
            } catch {
                if record.failure == nil, settings.printsErrors, !settings.report { error.print() }
                record.failure = record.failure ?? error
            }
        }
        return record.status
    }

    /// Prints a note in curl's words, with its prefix.
    private func curlNote(_ text: String) {
        if settings.printsNotes { Terminal.standardError.writeLine("Note: \(text.singleLine)") }
    }

    private func note(_ text: String) {
        if settings.printsNotes { Terminal.log(text) }
    }
}
