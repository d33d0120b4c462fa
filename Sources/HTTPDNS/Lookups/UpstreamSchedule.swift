// SPDX-License-Identifier: Apache-2.0

import Names

/// The state machine of one lookup: decides which upstream to ask next, how long to wait, and which answer to use.
///
/// Upstreams are asked in the given order, ``Plan/atOnce`` of them at the start. If one fails or exceeds its budget,
/// the next is asked at once. If one is slow, the next is asked in addition after `hedgeAfter`. The first good answer
/// wins and cancels the other questions.
struct UpstreamSchedule {
    /// The upstreams to ask, and the time limits.
    struct Plan {
        /// The upstreams, in the order to ask them.
        var candidates: [Candidate]
        /// The number of upstreams asked at the start.
        var atOnce = 1
        /// The time limit for the whole lookup.
        var limit: Duration
        /// How long an answer for one family waits for the other (RFC 8305 §3).
        var resolutionDelay: Duration
    }

    /// An upstream that may be asked.
    struct Candidate {
        /// The upstream's index in the configuration.
        var upstream: Int
        /// Whether the upstream needs one question per family.
        var answersOneFamily: Bool
        /// The time limit for its answer.
        var budget: Duration
        /// The time after which the next upstream is asked too; nil: only after this one has failed.
        var hedgeAfter: Duration?
    }

    /// An input of the state machine.
    enum Event {
        /// An upstream's checked answer to the question for these families.
        case answered(upstream: Int, Families, Answer)
        /// An upstream's failure for these families.
        case failed(upstream: Int, Families, UpstreamError)
        /// Time has passed.
        case tick
    }

    /// An output of the state machine.
    enum Action {
        /// Ask an upstream for these families in one question.
        case ask(upstream: Int, Families)
        /// Cancel the questions to an upstream. `silentSince`: when it was asked, if the timeout is its own fault.
        case cancel(upstream: Int, silentSince: Moment? = nil)
        /// Deliver this to the waiting callers; a later answer completes it.
        case deliver(Outcome)
        /// End the lookup.
        case end(Outcome)
    }

    /// The result of the lookup.
    struct Outcome {
        /// The answer; empty if no upstream gave one.
        var answer = Answer()
        /// When each family of the answer arrived; its TTL counts from then.
        var arrivals: [IPAddress.Family: Moment] = [:]
        /// The upstream that gave the answer; nil if none did.
        var upstream: Int?
        /// The failures, in the order in which they occurred.
        var failures: [(upstream: Int, error: UpstreamError)] = []
        /// Whether the time limit of the lookup passed without an answer.
        var isOverdue = false
    }

    private struct Asked {
        var candidate: Candidate
        var outstanding: Families
        var answer = Answer()
        var arrivals: [IPAddress.Family: Moment] = [:]
        var failure: UpstreamError?
        var since: Moment
    }

    private let plan: Plan
    private let families: Families
    private let deadline: Moment
    private var asked: [Asked] = []
    private var next = 0
    private var outcome = Outcome()
    /// A denial without an SOA (RFC 2308 §5): used if no better answer arrives.
    private var denial: (upstream: Int, answer: Answer)?
    private var deliverAt: Moment?
    private var isOver = false

    init(_ plan: Plan, families: Families, now: Moment) {
        self.plan = plan
        self.families = families
        deadline = now + plan.limit
    }

    /// Whether an upstream has answered for at least one family.
    var hasAnswer: Bool { outcome.upstream != nil }

    /// Whether an answer of the upstream for these families is still awaited.
    func awaits(_ upstream: Int, for families: Families) -> Bool {
        !isOver && asked.contains { $0.candidate.upstream == upstream && !$0.outstanding.isDisjoint(with: families) }
    }

    /// When a ``Event/tick`` is due.
    var nextTick: Moment {
        guard !isOver else { return .never }
        var at = min(deadline, deliverAt ?? .never)
        for one in asked where !one.outstanding.isEmpty { at = min(at, one.since + one.candidate.budget) }
        if next < plan.candidates.count, outcome.upstream == nil, let hedge = hedgeAt { at = min(at, hedge) }
        return at
    }

    /// Starts the lookup.
    mutating func start(now: Moment) -> [Action] {
        var actions: [Action] = []
        for _ in 0..<min(max(1, plan.atOnce), plan.candidates.count) { askNext(now: now, into: &actions) }
        endIfAllFailed(into: &actions)
        return actions
    }

    /// Handles an event.
    mutating func event(_ event: Event, now: Moment) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        switch event {
        case .answered(let upstream, let families, let answer):
            record(upstream, answered: families, now: now, into: &actions) { $0.answer.add(answer) }
        case .failed(let upstream, let families, let error):
            record(upstream, answered: families, now: now, into: &actions) { $0.failure = error }
        case .tick:
            tick(now: now, into: &actions)
        }
        return actions
    }

    /// A caller that joins after one family was delivered waits for the other no longer than the first callers.
    mutating func callerJoined(now: Moment) {
        if hasAnswer, !isOver, deliverAt == nil { deliverAt = now + plan.resolutionDelay }
    }

    // MARK: Steps

    private mutating func askNext(now: Moment, into actions: inout [Action]) {
        guard next < plan.candidates.count else { return }
        let candidate = plan.candidates[next]
        next += 1
        asked.append(Asked(candidate: candidate, outstanding: families, since: now))
        if candidate.answersOneFamily {
            for family in families.members { actions.append(.ask(upstream: candidate.upstream, Families(family))) }
        } else {
            actions.append(.ask(upstream: candidate.upstream, families))
        }
    }

    private mutating func record(
        _ upstream: Int,
        answered settled: Families,
        now: Moment,
        into actions: inout [Action],
        change: (inout Asked) -> Void
    ) {
        guard let index = asked.firstIndex(where: { $0.candidate.upstream == upstream && !$0.outstanding.isEmpty })
        else { return }
        asked[index].outstanding.subtract(settled)
        for family in settled.members { asked[index].arrivals[family] = now }
        change(&asked[index])
        evaluate(asked[index], now: now, into: &actions)
    }

    private mutating func evaluate(_ one: Asked, now: Moment, into actions: inout [Action]) {
        if one.answer.hasAddresses(of: families) { return use(one, now: now, into: &actions) }
        // A denial waits for the other family: some servers deny a name of which they only lack this family (RFC 4074
        // §4.2).
        guard one.outstanding.isEmpty else { return }
        let records = families.members.compactMap { one.answer[$0] }
        if let denial = fullDenial(by: one) {
            use(denial, now: now, into: &actions)
        } else if one.failure == nil, !records.isEmpty, records.allSatisfy({ $0.ttl != nil }) {
            use(one, now: now, into: &actions)
        } else {
            giveUp(one, now: now, into: &actions)
        }
    }

    /// The answer of an upstream that says that the name does not exist, for all families: such a name has no record of
    /// another family either (RFC 8020). Nil for other answers, and for a denial without an SOA.
    private func fullDenial(by one: Asked) -> Asked? {
        let records = families.members.compactMap { one.answer[$0] }
        let isDenial = records.contains { if case .absent(.noName, .some) = $0 { true } else { false } }
        guard isDenial else { return nil }
        var denial = one
        for family in families.members where denial.answer[family] == nil { denial.answer[family] = records.first }
        return denial
    }

    /// Uses this upstream's answer and cancels the questions to the others.
    private mutating func use(_ one: Asked, now: Moment, into actions: inout [Action]) {
        let upstream = one.candidate.upstream
        if outcome.upstream == nil {
            for other in asked where other.candidate.upstream != upstream && !other.outstanding.isEmpty {
                actions.append(.cancel(upstream: other.candidate.upstream))
            }
            asked.removeAll { $0.candidate.upstream != upstream }
            outcome.upstream = upstream
            deliverAt = now + plan.resolutionDelay
        }
        outcome.answer = one.answer
        outcome.arrivals = one.arrivals
        if one.outstanding.isEmpty {
            if let failure = one.failure { outcome.failures.append((upstream, failure)) }
            end(into: &actions)
        }
    }

    private mutating func giveUp(_ one: Asked, now: Moment, into actions: inout [Action]) {
        let upstream = one.candidate.upstream
        if let failure = one.failure {
            outcome.failures.append((upstream, failure))
        } else if one.answer.families.isEmpty {
            outcome.failures.append((upstream, UpstreamError(.malformedAnswer, "the answer does not contain the name")))
        } else if denial == nil {
            denial = (upstream, one.answer)
        }
        asked.removeAll { $0.candidate.upstream == upstream }
        askNext(now: now, into: &actions)
        endIfAllFailed(into: &actions)
    }

    private mutating func tick(now: Moment, into actions: inout [Action]) {
        if let at = deliverAt, at <= now {
            deliverAt = nil
            actions.append(.deliver(outcome))
        }
        for one in asked where !one.outstanding.isEmpty && one.since + one.candidate.budget <= now {
            guard !isOver else { return }
            // If the tick is much too late, as after the machine slept, the timeout is not the upstream's fault.
            let isLate = one.since + one.candidate.budget + one.candidate.budget <= now
            actions.append(.cancel(upstream: one.candidate.upstream, silentSince: isLate ? nil : one.since))
            var late = one
            late.outstanding = []
            late.failure = UpstreamError(.timeLimit, "no answer within \(one.candidate.budget)")
            if let index = asked.firstIndex(where: { $0.candidate.upstream == one.candidate.upstream }) {
                asked[index].outstanding = []
            }
            evaluate(late, now: now, into: &actions)
        }
        guard !isOver else { return }
        if deadline <= now {
            for one in asked where !one.outstanding.isEmpty {
                actions.append(.cancel(upstream: one.candidate.upstream))
                if outcome.upstream == nil, let denial = fullDenial(by: one) {
                    outcome.upstream = one.candidate.upstream
                    (outcome.answer, outcome.arrivals) = (denial.answer, denial.arrivals)
                }
            }
            useDenial()
            outcome.isOverdue = outcome.upstream == nil
            end(into: &actions)
        } else if outcome.upstream == nil, let hedge = hedgeAt, hedge <= now {
            askNext(now: now, into: &actions)
        }
    }

    /// When the next upstream is asked although the last one may still answer.
    private var hedgeAt: Moment? {
        asked.last.flatMap { last in last.candidate.hedgeAfter.map { last.since + $0 } }
    }

    private mutating func endIfAllFailed(into actions: inout [Action]) {
        guard !isOver, asked.isEmpty, next >= plan.candidates.count else { return }
        useDenial()
        end(into: &actions)
    }

    /// Uses the denial without an SOA, because no better answer arrived.
    private mutating func useDenial() {
        guard outcome.upstream == nil, let denial else { return }
        outcome.upstream = denial.upstream
        outcome.answer = denial.answer
    }

    private mutating func end(into actions: inout [Action]) {
        isOver = true
        asked = []
        actions.append(.end(outcome))
    }
}
