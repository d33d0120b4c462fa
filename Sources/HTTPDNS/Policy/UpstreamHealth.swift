// SPDX-License-Identifier: Apache-2.0

/// How the upstreams did lately: which are down, which are to be left alone, how fast they answer.
struct UpstreamHealth {
    /// The bounds; see ``ResolverConfiguration``.
    struct Limits {
        var failuresUntilDown = 3
        var probeInterval = Duration.seconds(30)
        var pauseAfterRefusal = Duration.seconds(600)
    }

    private struct State {
        var failures = 0
        /// Set while the upstream is down: when one question may go to it again.
        var probeAt: Moment?
        var pausedUntil = Moment.past
        /// When it last said something, if only that it cannot answer.
        var answeredAt = Moment.past
        /// Smoothed time of an answer and its variation, in nanoseconds (RFC 6298 §2).
        var roundTrip: Int64?
        var variation: Int64 = 0
    }

    /// How often the network has changed. What became of a question of an earlier network says nothing of this one.
    private(set) var generation = 0
    private let limits: Limits
    private var states: [State]

    init(count: Int, limits: Limits) {
        self.limits = limits
        states = Array(repeating: State(), count: count)
    }

    /// Whom a question may go to.
    struct Choice: Equatable {
        /// The upstreams to ask, in the order given.
        var upstreams: [Int]
        /// An upstream that was down and is asked besides, to see whether it is back.
        var probe: Int?
    }

    /// The upstreams that may be asked now. Those that are down are left out, but for one question to each of them in
    /// `probeInterval`: one that is due is asked besides, or, where all are down, alone.
    mutating func choose(among order: [Int], now: Moment) -> Choice {
        if !order.contains(where: { isDown($0, now: now) }) { return Choice(upstreams: order) }
        let ready = order.filter { states[$0].pausedUntil <= now }
        let up = ready.filter { states[$0].probeAt == nil }
        let due = ready.first { states[$0].probeAt.map { $0 <= now } ?? false }
        guard let due else { return Choice(upstreams: up) }
        // Only this one's turn moves on: the others must get theirs, or one that recovered is never asked.
        states[due].probeAt = now + limits.probeInterval
        return up.isEmpty ? Choice(upstreams: [due]) : Choice(upstreams: up, probe: due)
    }

    /// An upstream answered after `time`.
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

    /// An upstream said something of a question.
    mutating func answered(_ upstream: Int, at now: Moment) { states[upstream].answeredAt = now }

    /// An upstream was silent on a question. If it has answered another one since, the name was at fault: servers of some zones
    /// never answer, and an upstream waits for them.
    mutating func timedOut(_ upstream: Int, askedAt: Moment, now: Moment) {
        if states[upstream].answeredAt < askedAt { failed(upstream, .tryElsewhere, now: now) }
    }

    /// An upstream failed.
    mutating func failed(_ upstream: Int, _ reaction: UpstreamError.Reaction, now: Moment) {
        switch reaction {
        case .doNotRepeat:
            states[upstream].answeredAt = now
            states[upstream].failures = 0
            states[upstream].probeAt = nil
        case .leaveAlone:
            states[upstream].pausedUntil = now + limits.pauseAfterRefusal
        case .tryElsewhere:
            states[upstream].failures += 1
            if states[upstream].failures >= limits.failuresUntilDown, states[upstream].probeAt == nil {
                states[upstream].probeAt = now + limits.probeInterval
            }
        }
    }

    /// Everything that was learned of being down is forgotten: the network is another one.
    mutating func networkChanged() {
        generation += 1
        for index in states.indices {
            states[index].pausedUntil = .past
            states[index].failures = 0
            states[index].probeAt = nil
            states[index].roundTrip = nil
        }
    }

    /// The usual time of an upstream's answer; nil where it never answered.
    func roundTrip(_ upstream: Int) -> Duration? {
        states[upstream].roundTrip.map { .nanoseconds($0) }
    }

    /// The time after which an upstream that has not answered is slower than usual; nil where it never answered.
    func usualTime(_ upstream: Int) -> Duration? {
        states[upstream].roundTrip.map { .nanoseconds($0 + 4 * states[upstream].variation) }
    }

    /// Whether the upstream is down or left alone.
    func isDown(_ upstream: Int, now: Moment) -> Bool {
        states[upstream].probeAt != nil || states[upstream].pausedUntil > now
    }
}
