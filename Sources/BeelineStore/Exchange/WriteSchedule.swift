// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// When the file is written and looked at. It holds no clock: times are durations since the schedule began.
struct WriteSchedule: Hashable, Sendable {
    /// What is to be done next.
    enum Action: Hashable, Sendable {
        /// Write what waits; `withAccess`: the times of last access too.
        case write(withAccess: Bool)
        /// Look for changes of others.
        case look
        /// Wait until a time, or until something happens.
        case wait(until: Duration)
    }

    /// How long a batch that failed waits at most until it is tried again.
    static let longestPause = Duration.seconds(60)

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
        refreshInterval = configuration.refreshInterval?.asWait
        accessInterval = configuration.accessInterval.asWait
    }

    /// What to do at a time when so many changes wait.
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

    /// Notes that something was done.
    mutating func did(_ action: Action, succeeded: Bool, now: Duration) {
        guard succeeded else {
            failures += 1
            retry = now + min(Self.longestPause, max(writeDelay, .milliseconds(100)) * (1 << min(failures, 16)))
            return
        }
        failures = 0
        // Who writes has looked.
        lastLook = now
        if case .write(let withAccess) = action {
            firstPending = nil
            if withAccess { lastAccess = now }
        }
    }
}
