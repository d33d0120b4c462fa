// SPDX-License-Identifier: Apache-2.0

/// The recent results of upstreams: which are down, which are paused, and their response times.
struct UpstreamHealth {
    /// The time from the last failure to the first probe. It doubles with each probe.
    private static let firstProbe = Duration.seconds(1)

    private struct State {
        var failures = 0
        /// When the upstream may be probed; nil unless it is down.
        var probeAt: Moment?
        /// The number of probes since the upstream went down.
        var probes = 0
        var pausedUntil = Moment.past
        /// When it last responded, even with an error.
        var answeredAt = Moment.past
        /// The smoothed response time and its variation, in nanoseconds (RFC 6298 §2).
        var roundTrip: Int64?
        var variation: Int64 = 0
    }

    /// The number of network changes. Results of questions from an earlier network are ignored.
    private(set) var generation = 0
    private let failuresUntilDown: Int
    private let limits: ResolverConfiguration.Ranking
    private var states: [State]

    init(count: Int, failuresUntilDown: Int, limits: ResolverConfiguration.Ranking) {
        self.failuresUntilDown = failuresUntilDown
        self.limits = limits
        states = Array(repeating: State(), count: count)
    }

    /// The upstreams that a question may go to.
    struct Choice: Equatable {
        /// The upstreams to ask, in the given order.
        var upstreams: [Int]
        /// An upstream that is down and is asked in addition, to see whether it works again.
        var probe: Int?
    }

    /// The upstreams that may be asked now. An upstream that is down gets one question at a time, at growing intervals.
    /// The question goes to it in addition to the others, or only to it if all are down.
    mutating func choose(among order: [Int], now: Moment) -> Choice {
        if !order.contains(where: { isDown($0, now: now) }) { return Choice(upstreams: order) }
        let ready = order.filter { states[$0].pausedUntil <= now }
        let up = ready.filter { states[$0].probeAt == nil }
        let due = ready.first { states[$0].probeAt.map { $0 <= now } ?? false }
        guard let due else { return Choice(upstreams: up) }
        // Only this upstream's probe time moves. Otherwise the other upstreams that are down would never be probed.
        states[due].probes += 1
        states[due].probeAt = now + pause(after: states[due].probes)
        return up.isEmpty ? Choice(upstreams: [due]) : Choice(upstreams: up, probe: due)
    }

    /// The time to the next probe. An outage is often over in seconds, so the first probes come soon.
    private func pause(after probes: Int) -> Duration {
        Self.firstProbe.doubled(probes, upTo: limits.probeInterval)
    }

    /// Records an answer and its response time.
    mutating func succeeded(_ upstream: Int, after time: Duration) {
        states[upstream].failures = 0
        states[upstream].probeAt = nil
        let sample = time.nanoseconds
        if let roundTrip = states[upstream].roundTrip {
            states[upstream].variation += (abs(sample - roundTrip) - states[upstream].variation) / 4
            states[upstream].roundTrip = roundTrip + (sample - roundTrip) / 8
        } else {
            states[upstream].roundTrip = sample
            states[upstream].variation = sample / 2
        }
    }

    /// Records a timeout. It does not count if the upstream has responded to another question since. The name's own
    /// servers are then at fault.
    mutating func timedOut(_ upstream: Int, askedAt: Moment, now: Moment) {
        if states[upstream].answeredAt < askedAt { failed(upstream, reaction: .tryElsewhere, now: now) }
    }

    /// Records a failure.
    mutating func failed(_ upstream: Int, reaction: UpstreamError.Reaction, now: Moment) {
        switch reaction {
        case .doNotRepeat:
            states[upstream].answeredAt = now
            states[upstream].failures = 0
            states[upstream].probeAt = nil
        case .leaveAlone:
            states[upstream].pausedUntil = now + limits.pauseAfterRefusal
        case .tryElsewhere:
            states[upstream].failures += 1
            if states[upstream].failures >= failuresUntilDown, states[upstream].probeAt == nil {
                states[upstream].probes = 0
                states[upstream].probeAt = now + pause(after: 0)
            }
        }
    }

    /// Resets the results, because the network has changed.
    mutating func networkChanged() {
        generation += 1
        for index in states.indices {
            states[index].pausedUntil = .past
            states[index].failures = 0
            states[index].probeAt = nil
            states[index].roundTrip = nil
        }
    }

    /// The smoothed response time; nil if the upstream never answered.
    func roundTrip(_ upstream: Int) -> Duration? {
        states[upstream].roundTrip.map { .nanoseconds($0) }
    }

    /// The time after which an answer is slower than usual; nil if the upstream never answered.
    func usualTime(_ upstream: Int) -> Duration? {
        states[upstream].roundTrip.map { .nanoseconds($0 + 4 * states[upstream].variation) }
    }

    /// Whether the upstream is down or paused.
    func isDown(_ upstream: Int, now: Moment) -> Bool {
        states[upstream].probeAt != nil || states[upstream].pausedUntil > now
    }
}

extension UpstreamHealth {
    /// Records the result of a question.
    mutating func record(_ event: UpstreamSchedule.Event, after time: Duration, now: Moment) {
        switch event {
        case .answered(let upstream, _, _):
            succeeded(upstream, after: time)
            states[upstream].answeredAt = now
        case .failed(let upstream, _, let error) where error.code == .timeLimit:
            timedOut(upstream, askedAt: now - time, now: now)
        case .failed(let upstream, _, let error): failed(upstream, with: error, now: now)
        case .tick: break
        }
    }

    /// Records a failure. Cancellation and too many questions under way are not the upstream's fault and do not count.
    mutating func failed(_ upstream: Int, with error: UpstreamError, now: Moment) {
        guard error.code != .cancelled, error.code != .busy else { return }
        failed(upstream, reaction: error.code.reaction, now: now)
    }
}
