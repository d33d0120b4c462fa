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

    // MARK: Heads and trailers

    /// Writes the response heads to the output.
    func writeHeads(_ state: inout State) throws(CommandFailure) {
        for head in state.record.heads { try state.sink.write(head: head) }
    }

    /// Writes heads or trailers to the file of `-D`.
    func dump(_ heads: [ByteBuffer]) throws(CommandFailure) {
        guard let file = self.heads, let dump = plan.dumpHeader else { return }
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
        if plan.includesHead { try state.sink.write(head: lines) }
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
    func tell(_ hops: [Hop]) {
        guard settings.isVerbose else { return }
        for line in hops.flatMap(VerboseLog.lines) {
            Terminal.standardError.writeLine(Terminal.standardError.dim(line.singleLine))
        }
    }
}
