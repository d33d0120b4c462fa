// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// The clock of a client. It is type-erased, because a generic clock would become part of the public types of the
/// client and of everything that holds a client.
struct CallClock: Sendable {
    /// The time since the clock was created.
    let now: @Sendable () -> Duration
    /// Sleeps for a duration; throws if the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void
    /// The time of day, to compare with dates of servers.
    let date: @Sendable () -> CookieTime

    init(_ clock: some Clock<Duration>, date: @escaping @Sendable () -> CookieTime) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0.asWait) }
        self.date = date
    }
}
