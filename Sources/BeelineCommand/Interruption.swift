// SPDX-License-Identifier: Apache-2.0

import Dispatch
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Ctrl-C, `kill` and a terminal that is closed: the first signal cancels what is under way, so that files are closed and jars
/// written; a later one ends the process at once.
enum Interruption {
    /// Runs `work`. Where a signal cancelled it, the process then dies of that signal, as its parent expects.
    ///
    /// - Parameters:
    ///   - signals: those that cancel. One that our parent has us ignore (nohup, a script's background) stays ignored.
    ///   - cleanup: for how long after the first signal the next ones are ignored, because a process that ends at once would
    ///     leave something behind.
    static func run(
        signals: [CInt] = [SIGINT, SIGTERM, SIGHUP],
        cleanup: DispatchTimeInterval? = nil,
        _ work: @escaping @Sendable () async -> CommandStatus
    ) async -> CommandStatus {
        // A reader that has left is an error of the write, with an exit code of its own.
        signal(SIGPIPE, SIG_IGN)
        let task = Task { await work() }
        let received = NIOLockedValueBox<CInt?>(nil)
        let handled = signals.filter { !ignore($0) }
        let sources = handled.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
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
                task.cancel()
            }
            source.resume()
            return source
        }
        let status = await task.value
        for source in sources { source.cancel() }
        if let number = received.withLockedValue({ $0 }) { die(of: number) }
        // What comes behind the work can be ended too.
        restore(handled)
        return status
    }

    /// Ignores a signal; whether it was ignored before.
    static func ignore(_ number: CInt) -> Bool {
        // A handler is a C function, which Swift cannot compare; `SIG_IGN` is none but the number 1, in the place of one.
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Lets signals end the process.
    private static func restore(_ signals: [CInt]) {
        for number in signals { signal(number, SIG_DFL) }
    }

    /// Ends the process by a signal. Dispatch on Linux blocks a signal in the thread that it first came to, where `raise` alone
    /// would leave it pending for ever.
    private static func die(of number: CInt) {
        signal(number, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }
}
