// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import LibC
import NIOConcurrencyHelpers

/// Handles SIGINT, SIGTERM and SIGHUP: the first signal cancels the work so that files are closed and jars are saved; a second
/// signal ends the process at once.
enum Interruption {
    /// The signals that end a server. SIGHUP is not among them, because it reloads the server's files.
    static let serverSignals = [SIGINT, SIGTERM]

    /// Runs the work of a command as ``run(signals:cleanup:limit:_:)`` does, and prints its failure.
    ///
    /// - Throws: The exit code if it is not 0.
    static func runCommand(
        signals: [CInt] = [SIGINT, SIGTERM, SIGHUP],
        cleanup: DispatchTimeInterval? = nil,
        _ work: @escaping @Sendable () async throws(CommandFailure) -> CommandStatus
    ) async throws(ExitCode) {
        let status = await run(signals: signals, cleanup: cleanup) {
            do throws(CommandFailure) {
                return try await work()
            } catch {
                error.print()
                return error.status
            }
        }
        if status != .ok { throw ExitCode(status.rawValue) }
    }

    /// Runs `work`. If a signal cancelled it, that signal then ends the process, as the parent expects.
    ///
    /// - Parameters:
    ///   - signals: the signals that cancel. A signal that the parent has set to be ignored stays ignored (nohup, background jobs).
    ///   - cleanup: how long after the first signal further signals are ignored, to let the cleanup finish.
    ///   - limit: how long after the first signal the process ends even if the work has not ended, for example because
    ///     standard output is blocked. Nil: never.
    static func run(
        signals: [CInt] = [SIGINT, SIGTERM, SIGHUP],
        cleanup: DispatchTimeInterval? = nil,
        limit: DispatchTimeInterval? = nil,
        _ work: @escaping @Sendable () async -> CommandStatus
    ) async -> CommandStatus {
        // A closed pipe is then a write error with its own exit code.
        signal(SIGPIPE, SIG_IGN)
        let task = Task { await work() }
        let received = NIOLockedValueBox<CInt?>(nil)
        let handled = signals.filter { !ignore($0) }
        // Until Dispatch has registered its sources, a signal ends the process. Ignored, it would be lost.
        restore(handled)
        let sources = handled.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            #if canImport(Darwin)
            // On Linux, Dispatch sets a handler.
            source.setRegistrationHandler { signal(number, SIG_IGN) }
            #endif
            source.setEventHandler {
                let isFirst = received.withLockedValue { received in
                    defer { received = received ?? number }
                    return received == nil
                }
                guard isFirst else { return }
                if let cleanup {
                    DispatchQueue.global().asyncAfter(deadline: .now() + cleanup) { restore(handled) }
                } else {
                    restore(handled)
                }
                if let limit { DispatchQueue.global().asyncAfter(deadline: .now() + limit) { endProcess(by: number) } }
                task.cancel()
            }
            source.resume()
            return source
        }
        let status = await task.value
        for source in sources { source.cancel() }
        if let number = received.withLockedValue({ $0 }) { endProcess(by: number) }
        // Let signals end the code that runs after the work.
        restore(handled)
        return status
    }

    /// Ignores a signal. Returns whether it was already ignored.
    static func ignore(_ number: CInt) -> Bool {
        // Swift cannot compare C function pointers. SIG_IGN is the number 1 cast to one, so compare the bits.
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Restores the default action of signals.
    private static func restore(_ signals: [CInt]) {
        for number in signals { signal(number, SIG_DFL) }
    }

    /// Ends the process by a signal. On Linux, Dispatch blocks the signal in the thread that first received it, so `raise`
    /// alone would leave it pending.
    private static func endProcess(by number: CInt) {
        signal(number, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }
}
