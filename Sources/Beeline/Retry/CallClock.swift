// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A type-erased clock for the client.
struct CallClock: Sendable {
    /// The time since the clock was created.
    let now: @Sendable () -> Duration
    /// Sleeps for a duration; throws if the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }

    /// Seconds since 1970, to compare with dates of servers.
    static var date: Int64 { Int64(time(nil)) }
}
