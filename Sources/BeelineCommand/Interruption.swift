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

/// Ctrl-C and `kill`: the first one cancels what is under way, so that files are closed and jars written; the second one ends
/// the process at once.
enum Interruption {
    /// Runs `work`. Where a signal cancelled it, the process then dies of that signal, as its parent expects.
    static func run(_ work: @escaping @Sendable () async -> CommandStatus) async -> CommandStatus {
        // A reader that has left is an error of the write, with an exit code of its own.
        signal(SIGPIPE, SIG_IGN)
        let task = Task { await work() }
        let received = NIOLockedValueBox<CInt?>(nil)
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                received.withLockedValue { $0 = number }
                signal(number, SIG_DFL)
                task.cancel()
            }
            source.resume()
            return source
        }
        let status = await task.value
        for source in sources { source.cancel() }
        if let number = received.withLockedValue({ $0 }) { die(of: number) }
        return status
    }

    /// Ends the process by a signal. Dispatch on Linux blocks a signal in the thread that it first came to, where `raise` alone
    /// would leave it pending for ever.
    private static func die(of number: CInt) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
    }
}
