// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// Decides when to write and check the file. It has no clock: times are durations since the start of the schedule.
struct WriteSchedule: Hashable, Sendable {
    /// The next step.
    enum Action: Hashable, Sendable {
        /// Write the pending changes, with access times if `withAccess` is true.
        case write(withAccess: Bool)
        /// Check for changes of other processes.
        case look
        /// Wait until a time or a change.
        case wait(until: Duration)
    }

    /// The maximum delay between retries of a failed batch.
    static let longestPause = Duration.seconds(60)

    /// The minimum time between two checks of the file, so that an interval of zero does not occupy a processor.
    static let shortestInterval = Duration.milliseconds(10)

    private let writeDelay: Duration
    private let batchCount: Int
    private let refreshInterval: Duration?
    private let accessInterval: Duration
    private var firstPending: Duration?
    private var lastLook = Duration.zero
    private var lastAccess = Duration.zero
    private var failures = 0
    private var retry = Duration.zero

    init(_ configuration: CookieDatabaseConfiguration) {
        writeDelay = configuration.writeDelay.asWait
        batchCount = configuration.writeBatchCount
        refreshInterval = configuration.refreshInterval.map { max($0.asWait, Self.shortestInterval) }
        accessInterval = max(configuration.accessInterval.asWait, Self.shortestInterval)
    }

    /// Returns the next step for a number of pending changes at a time.
    mutating func next(pending: Int, now: Duration) -> Action {
        firstPending = pending == 0 ? nil : firstPending ?? now
        let accessDue = max(lastAccess + accessInterval, retry)
        if now >= accessDue { return .write(withAccess: true) }
        var deadline = accessDue
        if let firstPending {
            let due = max(pending >= batchCount ? firstPending : firstPending + writeDelay, retry)
            if now >= due { return .write(withAccess: false) }
            deadline = min(deadline, due)
        }
        if let refreshInterval {
            let due = max(lastLook + refreshInterval, retry)
            if now >= due { return .look }
            deadline = min(deadline, due)
        }
        return .wait(until: deadline)
    }

    /// Records the result of a step.
    mutating func did(_ action: Action, succeeded: Bool, now: Duration) {
        guard succeeded else {
            failures += 1
            retry = now + min(Self.longestPause, max(writeDelay, .milliseconds(100)) * (1 << min(failures, 16)))
            return
        }
        failures = 0
        // A write also reads the changes of others.
        lastLook = now
        if case .write(let withAccess) = action {
            firstPending = nil
            if withAccess { lastAccess = now }
        }
    }
}
