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

/// Reports signals with their sender, which Dispatch's signal sources do not report.
///
/// The signal handler writes one byte into a pipe, and a Dispatch source reads it. There is one pipe per process.
struct ReceivedSignals {
    private let numbers: [CInt]
    private let source: any DispatchSourceRead
    /// Whether a signal has come that ends a process.
    private let isEnding = NIOLockedValueBox(false)
    private static let ending: Set<CInt> = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Starts to report signals.
    ///
    /// - Parameters:
    ///   - numbers: the signals.
    ///   - handle: called on a Dispatch queue with the signal, and whether a key of a terminal may have sent it.
    init(
        _ numbers: [CInt],
        handle: @escaping @Sendable (_ number: CInt, _ mayBeKey: Bool) -> Void
    ) throws(FileDescriptor.Failure) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw FileDescriptor.Failure(code: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler must not wait. 65,536 unread signals are more than a program needs to see.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        writeEnd = ends[1]
        let readEnd = FileDescriptor(ends[0])
        source = DispatchSource.makeReadSource(fileDescriptor: readEnd.number, queue: .global())
        source.setEventHandler { [isEnding] in
            var byte: UInt8 = 0
            while read(readEnd.number, &byte, 1) == 1 {
                let number = CInt(byte & ~keyBit)
                if Self.ending.contains(number) { isEnding.withLockedValue { $0 = true } }
                handle(number, byte & keyBit != 0)
            }
        }
        source.resume()
        self.numbers = numbers
        Self.handle(numbers, flags: SA_SIGINFO | SA_RESTART)
    }

    private static func handle(_ numbers: [CInt], flags: CInt) {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_sigaction = report
        #elseif canImport(Musl)
        action.__sa_handler.sa_sigaction = report
        #else
        action.__sigaction_handler.sa_sigaction = report
        #endif
        action.sa_flags = flags
        for number in numbers { sigaction(number, &action, nil) }
    }

    /// Reports no signals from now on. The first one that ends a process is ignored, to let the cleanup finish, unless it
    /// was reported before. The second ends the process. The signals of users are ignored.
    ///
    /// Does not close the pipe: a handler may be running in another thread.
    func stop() {
        for number in numbers where !Self.ending.contains(number) { signal(number, SIG_IGN) }
        let ending = numbers.filter { Self.ending.contains($0) }
        if isEnding.withLockedValue({ $0 }) {
            for number in ending { signal(number, SIG_DFL) }
        } else {
            // The first signal restores the default action. Nobody reads the pipe any more.
            Self.handle(ending, flags: SA_SIGINFO | SA_RESTART | CInt(truncatingIfNeeded: SA_RESETHAND))
        }
        source.cancel()
    }
}

/// Where the signal handler writes. A handler can reach only globals.
@exclusivity(unchecked) nonisolated(unsafe) private var writeEnd: CInt = -1

/// This bit is set if a key may have sent the signal. Signal numbers are smaller.
private let keyBit: UInt8 = 0x80

/// The signal handler. It calls only functions that are allowed in a handler, and allocates nothing.
private func report(_ number: CInt, _ info: UnsafeMutablePointer<siginfo_t>?, _: UnsafeMutableRawPointer?) {
    let error = errno
    defer { errno = error }
    #if canImport(Darwin)
    // For a key, Apple's kernel names the terminal emulator as the sender. The emulator is in another session than its
    // programs.
    let session = getsid(info?.pointee.si_pid ?? 0)
    // A sender that has ended has no session. It was not a terminal.
    let mayBeKey = session != -1 && session != getsid(0)
    #else
    // The kernel's own signals have a positive code, and those of kill(2) have none.
    let mayBeKey = (info?.pointee.si_code ?? 0) > 0
    #endif
    var byte = UInt8(truncatingIfNeeded: number) | (mayBeKey ? keyBit : 0)
    _ = write(writeEnd, &byte, 1)
}
