// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// The background work of a shared jar: one loop writes changes, and one follows the server's. Both run until their
/// task is cancelled.
struct JarLoops: Sendable {
    let context: JarContext
    let writer: JarWriter
    let reader: JarReader
    let writing: RedisSession
    let reading: RedisSession

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await read() }
            group.addTask { await write() }
        }
    }

    private func read() async {
        let bounds = context.configuration.redis.retryDelay
        var pause = RetryPause(bounds)
        // The earliest time of the next survey. Any client of the server can cause surveys, by a gap in the feed or a
        // changed counter.
        var rest = ContinuousClock.now
        while !Task.isCancelled {
            if reader.needsSurvey { try? await ContinuousClock().sleep(until: rest) }
            switch await reading.run({ [reader] in reader.step(in: $0) }) {
            case .surveyed: rest = .now + pause.next().asWait
            case .followed: if ContinuousClock.now > rest + bounds.upperBound.asWait { pause.reset() }
            case .failed(let fault):
                context.fail(fault, .reading)
                rest = .now + pause.next().asWait
            case nil: return
            }
        }
    }

    private func write() async {
        var pause = RetryPause(context.configuration.redis.retryDelay)
        while !Task.isCancelled {
            let values = context.progress.values
            // Before the first survey, this process does not know the newer changes of others and could overwrite them.
            guard values.isCurrent, context.recorder.count > 0 || values.failures[.writing] != nil else {
                await context.recorder.wakeSignal.wait(until: .now + .seconds(60), clock: ContinuousClock())
                continue
            }
            switch await writePending() {
            case .written: pause.reset()
            case .overrun: break
            case .failed: try? await Task.sleep(for: pause.next().asWait)
            case nil: return
            }
        }
    }

    /// Writes all pending changes. Nil if the session has ended.
    func writePending() async -> JarWriter.Outcome? {
        let outcome = await writing.run { [context, writer, reader] session in
            defer { context.recorder.writeEnded() }
            let outcome = writer.write(in: session)
            if case .overrun = outcome {
                // Invalidate before the next write, which would otherwise report that everything is written. The reader
                // notices it after its present wait for the feed.
                reader.invalidate()
                context.progress.update { ($0.isCurrent, $0.hasOverrun) = (false, true) }
            }
            return outcome
        }
        switch outcome {
        case .written:
            if context.progress.values.failures[.writing] != nil {
                context.progress.update { $0.failures[.writing] = nil }
            }
        case .failed(let fault):
            context.fail(fault, .writing)
            // The loop tries again, even if nothing is pending.
            context.recorder.wakeSignal.signal()
        case .overrun, nil: break
        }
        return outcome
    }
}
#endif
