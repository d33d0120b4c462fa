// SPDX-License-Identifier: Apache-2.0

import Dispatch
import LibC
import NIOConcurrencyHelpers

/// Reports signals with their sender, which Dispatch's signal sources do not report.
///
/// The signal handler writes one byte into a pipe, and a Dispatch source reads it. There is one pipe per process.
struct ReceivedSignals {
    private let numbers: [CInt]
    private let source: any DispatchSourceRead
    /// The time of the last signal that ends a process.
    private let lastEnding = NIOLockedValueBox<ContinuousClock.Instant?>(nil)
    private static let ending: Set<CInt> = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// A program that ends within this time after a signal has ended because of it.
    private static let endingTime = Duration.seconds(1)

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
            // A handler must not block. 65,536 unread signals are more than a program needs to see.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        writeEnd = ends[1]
        let readEnd = FileDescriptor(ends[0])
        source = DispatchSource.makeReadSource(fileDescriptor: readEnd.number, queue: .global())
        source.setEventHandler { [lastEnding] in
            var byte: UInt8 = 0
            while read(readEnd.number, &byte, 1) == 1 {
                let number = CInt(byte & ~keyBit)
                if Self.ending.contains(number) { lastEnding.withLockedValue { $0 = .now } }
                handle(number, byte & keyBit != 0)
            }
        }
        source.resume()
        self.numbers = numbers
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_sigaction = report
        #elseif canImport(Musl)
        action.__sa_handler.sa_sigaction = report
        #else
        action.__sigaction_handler.sa_sigaction = report
        #endif
        action.sa_flags = SA_SIGINFO | SA_RESTART
        for number in numbers { sigaction(number, &action, nil) }
    }

    /// Stops reporting. The first signal that ends a process is ignored, so that the cleanup can finish, unless another
    /// arrived just before. The second signal ends the process. SIGUSR1 and SIGUSR2 are ignored.
    ///
    /// Does not close the pipe: a handler may be running in another thread.
    func stop() {
        for number in numbers where !Self.ending.contains(number) { signal(number, SIG_IGN) }
        let ending = numbers.filter { Self.ending.contains($0) }
        endingSignals = ending.reduce(0) { $0 | 1 << UInt64($1) }
        let last = lastEnding.withLockedValue { $0 }
        let hasCome = last.map { $0.duration(to: .now) < Self.endingTime } ?? false
        for number in ending { signal(number, hasCome ? SIG_DFL : endNext) }
        source.cancel()
    }
}

/// The end of the pipe that the signal handler writes to. A handler can use only globals.
@exclusivity(unchecked) nonisolated(unsafe) private var writeEnd: CInt = -1

/// The signals that end the process after the first one that ``endNext(_:)`` handles, one bit each.
@exclusivity(unchecked) nonisolated(unsafe) private var endingSignals: UInt64 = 0

/// The signal handler after ``ReceivedSignals/stop()``: the next signal ends the process. `signal` is allowed in a
/// handler.
private func endNext(_: CInt) {
    for number in 1..<CInt(32) where endingSignals & (1 << UInt64(number)) != 0 { signal(number, SIG_DFL) }
}

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
    // Signals of the kernel have a positive code; those of kill(2) do not.
    let mayBeKey = (info?.pointee.si_code ?? 0) > 0
    #endif
    var byte = UInt8(truncatingIfNeeded: number) | (mayBeKey ? keyBit : 0)
    _ = write(writeEnd, &byte, 1)
}
