// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Limits the speed of a transfer to `--limit-rate`.
struct Pace: Sendable {
    /// The decision how long to wait.
    struct Window: Hashable, Sendable {
        /// The time that a transfer may catch up after a stall. Without a limit, a long stall would permit a long burst.
        static let credit = Duration.seconds(3)

        /// In bytes per second, above 0.
        let rate: Int64
        /// The time at which the first byte was due.
        private(set) var begin: ContinuousClock.Instant

        init(rate: Int64, begin: ContinuousClock.Instant) {
            self.rate = rate
            self.begin = begin
        }

        /// Returns the time from `now` until the rate allows more than `count` bytes; below zero if it allows more now.
        mutating func wait(after count: Int64, now: ContinuousClock.Instant) -> Duration {
            let due = Duration.nanoseconds(Int64(clamping: Double(count) / Double(rate) * 1e9))
            let late = begin.duration(to: now) - due
            if late > Self.credit { begin += late - Self.credit }
            return .zero - late
        }
    }

    /// Guards the window.
    private let window: NIOLockedValueBox<Window>
    private let deadline: ContinuousClock.Instant?

    /// - Parameters:
    ///   - rate: in bytes per second, above 0.
    ///   - deadline: when a wait fails (`-m`).
    init(_ rate: Int64, until deadline: ContinuousClock.Instant? = nil) {
        window = NIOLockedValueBox(Window(rate: rate, begin: .now))
        self.deadline = deadline
    }

    /// The number of bytes to transfer between two waits: those of a quarter of a second. `-Y` examines each second.
    static func slice(of rate: Int64) -> Int { Int(clamping: max(1, rate / 4)) }

    /// Waits until the rate allows more than `count` bytes.
    ///
    /// - Throws: ``CommandFailure`` with status `timedOut` at the deadline; `CancellationError`.
    func wait(after count: Int64) async throws {
        let now = ContinuousClock.now
        let early = window.withLockedValue { $0.wait(after: count, now: now) }
        guard early > .milliseconds(1) else { return }
        let end = now + early
        guard let deadline, deadline < end else { return try await Task.sleep(until: end) }
        try await Task.sleep(until: deadline)
        throw Self.late
    }

    static let late = CommandFailure(.timedOut, "the transfer did not end in time (-m)")
}
