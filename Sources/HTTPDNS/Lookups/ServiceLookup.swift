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

/// Which upstreams drop questions for HTTPS records. They are not asked for records for a while, so that not every new
/// name is held up.
struct ServiceSilence {
    /// How many questions in a row an upstream must drop.
    static let maxTimeouts = 3
    /// How many, if it has answered one in this network: then the names are slow, and not the upstream.
    static let maxTimeoutsAfterAnswer = 30
    /// How long an upstream that drops them is not asked.
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

    /// An error is no silence.
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
