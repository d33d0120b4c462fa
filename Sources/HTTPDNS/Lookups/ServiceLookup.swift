// SPDX-License-Identifier: Apache-2.0

import Names

/// A question of a lookup of HTTPS records to one upstream.
struct PendingServiceQuestion: Sendable {
    /// Identifies the question.
    struct ID: Hashable, Sendable {
        let lookup: LookupID
        let upstream: Int
        /// The number of the question in its lookup.
        let number: Int
    }

    let id: ID
    let question: ServiceQuestion
}

/// A lookup of HTTPS records under way, and the callers that wait for it. It goes on without callers, for the cache.
struct ServiceLookup: KeyedLookup {
    let key: LookupKey
    /// The request for the name that has the records.
    let request: LookupRequest
    let scope: CacheScope
    /// The ``UpstreamHealth/generation`` when the lookup started.
    let generation: Int
    var schedule: ServiceSchedule
    var callers: [CallerID] = []
    /// The question under way.
    var question: PendingServiceQuestion.ID?
    var questions = 0

    var nextTick: Moment { schedule.nextTick }
}

/// The upstreams that drop questions for HTTPS records. They are not asked for records for a while, so that not every
/// new name has to wait for them.
struct ServiceSilence {
    /// The number of timeouts in a row after which an upstream is paused.
    static let maxTimeouts = 3
    /// The same for an upstream that has answered such a question in this network. The names are then slow, not the
    /// upstream.
    static let maxTimeoutsAfterAnswer = 30
    /// How long an upstream is paused.
    static let pause = Duration.seconds(120)

    private var timeouts: [Int: Int] = [:]
    private var pausedUntil: [Int: Moment] = [:]
    private var answering: Set<Int> = []

    mutating func timedOut(_ upstream: Int, now: Moment) {
        timeouts[upstream, default: 0] += 1
        let limit = answering.contains(upstream) ? Self.maxTimeoutsAfterAnswer : Self.maxTimeouts
        guard timeouts[upstream, default: 0] >= limit else { return }
        timeouts[upstream] = 0
        answering.remove(upstream)
        pausedUntil[upstream] = now + Self.pause
    }

    /// Records an error: the upstream responds.
    mutating func failed(_ upstream: Int) {
        timeouts[upstream] = nil
        pausedUntil[upstream] = nil
    }

    mutating func answered(_ upstream: Int) {
        failed(upstream)
        answering.insert(upstream)
    }

    func isPaused(_ upstream: Int, now: Moment) -> Bool { now < pausedUntil[upstream] ?? .past }
}
