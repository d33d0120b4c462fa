// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

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
        let start = ContinuousClock.now
        let deadline = plan.client.limits.total.map { start + $0 }
        do throws(CommandFailure) {
            let response = try await send(&state)
            state.retryAfter = RetryAfter.wait(response.fields, now: Int64(CookieTime.now.secondsSince1970))
            try await receive(response, until: deadline, &state)
        } catch {
            state.record.failure = error
        }
        state.record.received = state.sink.written
        state.record.lastTry = start.duration(to: .now)
        return state
    }

    // MARK: Heads and trailers

    /// Writes the response heads to the output.
    func writeHeads(_ state: inout State) throws(CommandFailure) {
        for head in state.record.heads { try write(head, &state) }
    }

    private func write(_ head: ByteBuffer, _ state: inout State) throws(CommandFailure) {
        try state.sink.write(head: doublesHeads ? head.withEachLineTwice : head)
    }

    /// Whether `-i` and `-D -` both write to standard output. As in curl, each line then appears twice in a row.
    private var doublesHeads: Bool {
        guard case .standardOutput = transfer.output, plan.includesHead else { return false }
        return plan.dumpHeader?.isStandardOutput == true
    }

    /// Writes heads or trailers to the file of `-D`.
    func dump(_ heads: [ByteBuffer]) throws(CommandFailure) {
        guard let file = self.heads, let dump = plan.dumpHeader, !doublesHeads else { return }
        for head in heads { try dump.write(head, to: file) }
    }

    /// Writes the trailers after the body, as curl does: for `-i` to the output, for `-D` to its file.
    func writeTrailers(_ trailers: HTTPFields?, _ state: inout State) throws(CommandFailure) {
        guard let trailers else { return }
        var lines = ByteBuffer()
        for field in trailers {
            lines.writeString("\(field.name.rawName): ")
            // A value may have octets that are not UTF-8.
            field.withUnsafeBytesOfValue { _ = lines.writeBytes($0) }
            lines.writeString("\r\n")
        }
        if plan.includesHead { try write(lines, &state) }
        try dump([lines])
    }

    /// Saves the last ETag of the responses. A response without an ETag does not change it.
    func saveETags(of hops: [Hop], to file: ETagFile) throws(CommandFailure) {
        let tag = hops.last {
            (200..<400).contains($0.status.code) && $0.response.headerFields[.eTag]?.isEmpty == false
        }
        guard let tag = tag?.response.headerFields[.eTag] else { return }
        try file.save(tag)
    }

    /// Prints the hops of `-v`.
    func printVerbose(_ hops: [Hop]) {
        guard settings.isVerbose else { return }
        for line in hops.flatMap({ VerboseLog.lines($0, wire: transfer.options.wire) }) {
            Terminal.standardError.writeLine(Terminal.standardError.dim(line.singleLine))
        }
    }
}

extension ByteBuffer {
    fileprivate var withEachLineTwice: ByteBuffer {
        var (rest, result) = (self, ByteBuffer())
        while rest.readableBytes > 0 {
            let view = rest.readableBytesView
            let length = view.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 - view.startIndex } ?? view.count
            guard let line = rest.readSlice(length: length) else { break }
            for _ in 1...2 { result.writeImmutableBuffer(line) }
        }
        return result
    }
}
