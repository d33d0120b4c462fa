// SPDX-License-Identifier: Apache-2.0

import LibC

/// The resolver's clock, type-erased so that reading it needs no generic call.
struct Timekeeper: Sendable {
    /// The time since the timekeeper was created.
    let now: @Sendable () -> Moment
    /// Sleeps for a duration; throws when the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Sleeps until a time, which may be past; throws when the task is cancelled.
    let sleepUntil: @Sendable (Moment) async throws -> Void

    /// Seconds since 1970, for times that outlive the process.
    let wall: @Sendable () -> Int64

    init(_ clock: some Clock<Duration>, wallClock: @escaping @Sendable () -> Int64) {
        wall = wallClock
        let continuousStart = Self.continuousNanoseconds()
        let start = clock.now
        sleep = { try await clock.sleep(for: $0) }
        sleepUntil = { try await clock.sleep(until: start.advanced(by: .nanoseconds($0.nanoseconds)), tolerance: nil) }
        if clock is ContinuousClock {
            // Every cached resolution reads the clock; this takes a third of the time of `ContinuousClock.now`.
            now = { Moment(nanoseconds: Self.continuousNanoseconds() - continuousStart) }
        } else {
            now = { Moment(nanoseconds: start.duration(to: clock.now).nanoseconds) }
        }
    }

    /// The system's time.
    static func secondsSince1970() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }

    private static func continuousNanoseconds() -> Int64 {
        var time = timespec()
        // The clocks that `ContinuousClock` reads: they advance while the machine sleeps.
        #if canImport(Darwin)
        unsafe clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #else
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        #endif
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
