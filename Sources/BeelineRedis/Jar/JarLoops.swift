// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// The background work of a shared jar: one loop writes changes, and one follows the server's. Both run until their task is
/// cancelled.
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
        var pause = RetryPause(context.configuration.redis.retryDelay)
        while !Task.isCancelled {
            switch await reading.run({ [reader] in reader.step(in: $0) }) {
            case .some(nil): pause.reset()
            case .some(let fault?):
                context.fail(fault)
                try? await Task.sleep(for: pause.next().asWait)
            case nil: return
            }
        }
    }

    private func write() async {
        var pause = RetryPause(context.configuration.redis.retryDelay)
        while !Task.isCancelled {
            // Before the first survey, a change could overwrite newer ones of others that it should have seen.
            guard context.recorder.count > 0, context.progress.values.isCurrent else {
                await context.recorder.wakeSignal.wait(until: .now + .seconds(60), clock: ContinuousClock())
                continue
            }
            switch await writing.run({ [writer] in writer.write(in: $0) }) {
            case .written:
                pause.reset()
                if context.progress.values.failure != nil {
                    context.progress.update { if $0.isCurrent { $0.failure = nil } }
                }
            case .overrun:
                reader.invalidate()
                reading.interrupt()
            case .failed(let fault):
                context.fail(fault)
                try? await Task.sleep(for: pause.next().asWait)
            case nil: return
            }
        }
    }
}
#endif
