// SPDX-License-Identifier: Apache-2.0

import Names

/// The state machine of one lookup: decides which upstream to ask next, how long to wait, and which answer to use.
///
/// Upstreams are asked in the given order, ``Plan/atOnce`` of them at the start. If one fails or exceeds its budget,
/// the next is asked at once, even if a later one is already asked. If the last one is slow, the next is asked in
/// addition after its `hedgeAfter`. The first good answer wins and cancels the other questions.
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
        /// The families that the network can reach. Addresses of another one are delivered only with both families.
        var reachable = Families.both
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

    /// An upstream that was asked, with its answers so far.
    private struct AskedUpstream {
        var candidate: Candidate
        /// The families whose answer is awaited.
        var outstanding: Families
        var answer = Answer()
        var arrivals: [IPAddress.Family: Moment] = [:]
        var failure: UpstreamError?
        var since: Moment

        /// The upstream's index in the configuration.
        var index: Int { candidate.upstream }
        /// Whether an answer is awaited.
        var isAwaited: Bool { !outstanding.isEmpty }
        /// The end of its budget.
        var deadline: Moment { since + candidate.budget }
    }

    private let plan: Plan
    private let families: Families
    private let deadline: Moment
    private var asked: [AskedUpstream] = []
    private var next = 0
    private var outcome = Outcome()
    /// A denial without an SOA (RFC 2308 §5): used if no better answer arrives.
    private var denial: (upstream: Int, answer: Answer)?
    private var deliverAt: Moment?
    private var hasDelivered = false
    /// Whether callers wait for both families, because the addresses that have arrived cannot be reached.
    private var needsBothFamilies = false
    private var isOver = false
    /// The actions of the present event.
    private var actions: [Action] = []

    init(_ plan: Plan, families: Families, now: Moment) {
        self.plan = plan
        self.families = families
        deadline = now + plan.limit
    }

    /// Whether an upstream has answered for at least one family.
    var hasAnswer: Bool { outcome.upstream != nil }

    /// Whether an answer of the upstream for these families is still awaited.
    func awaits(_ upstream: Int, for families: Families) -> Bool {
        !isOver && asked.contains { $0.index == upstream && !$0.outstanding.isDisjoint(with: families) }
    }

    /// When a ``Event/tick`` is due.
    var nextTick: Moment {
        guard !isOver else { return .never }
        var at = min(deadline, deliverAt ?? .never)
        for upstream in asked where upstream.isAwaited { at = min(at, upstream.deadline) }
        if next < plan.candidates.count, outcome.upstream == nil, let hedge = hedgeAt { at = min(at, hedge) }
        return at
    }

    /// Starts the lookup.
    mutating func start(now: Moment) -> [Action] {
        for _ in 0..<min(max(1, plan.atOnce), plan.candidates.count) { askNext(now: now) }
        endIfAllFailed()
        return takeActions()
    }

    /// Handles an event.
    mutating func event(_ event: Event, now: Moment) -> [Action] {
        guard !isOver else { return [] }
        switch event {
        case .answered(let upstream, let families, let answer):
            record(upstream, answered: families, now: now) { $0.answer.add(answer) }
        case .failed(let upstream, let families, let error):
            record(upstream, answered: families, now: now) { $0.failure = error }
        case .tick: tick(now: now)
        }
        return takeActions()
    }

    /// A caller that joins after one family was delivered waits for the other no longer than the first callers.
    mutating func callerJoined(now: Moment) {
        if hasAnswer, !isOver, !needsBothFamilies, deliverAt == nil { deliverAt = now + plan.resolutionDelay }
    }

    /// Lets callers wait for the other family, because all addresses of the delivered one have failed.
    ///
    /// - Returns: Whether the other family is awaited.
    mutating func deliveredFailed() -> Bool {
        guard hasDelivered, !isOver else { return false }
        needsBothFamilies = true
        deliverAt = nil
        return true
    }

    // MARK: Steps

    private mutating func askNext(now: Moment) {
        guard next < plan.candidates.count else { return }
        let candidate = plan.candidates[next]
        next += 1
        asked.append(AskedUpstream(candidate: candidate, outstanding: families, since: now))
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
        change: (inout AskedUpstream) -> Void
    ) {
        guard let position = asked.firstIndex(where: { $0.index == upstream && $0.isAwaited }) else { return }
        asked[position].outstanding.subtract(settled)
        for family in settled.members { asked[position].arrivals[family] = now }
        change(&asked[position])
        evaluate(asked[position], now: now)
    }

    private mutating func evaluate(_ upstream: AskedUpstream, now: Moment) {
        if upstream.answer.hasAddresses(of: families) { return use(upstream, now: now) }
        // A denial waits for the other family: some servers deny a name of which they only lack this family (RFC 4074
        // §4.2).
        guard !upstream.isAwaited else { return }
        let records = families.members.compactMap { upstream.answer[$0] }
        if let denial = fullDenial(by: upstream) {
            use(denial, now: now)
        } else if upstream.failure == nil, !records.isEmpty, records.allSatisfy({ $0.ttl != nil }) {
            use(upstream, now: now)
        } else {
            askNext(insteadOf: upstream, now: now)
        }
    }

    /// The answer of an upstream that says that the name does not exist, for all families: such a name has no record of
    /// another family either (RFC 8020). Nil for other answers, and for a denial without an SOA.
    private func fullDenial(by upstream: AskedUpstream) -> AskedUpstream? {
        let records = families.members.compactMap { upstream.answer[$0] }
        let isDenial = records.contains { if case .absent(.noName, .some) = $0 { true } else { false } }
        guard isDenial else { return nil }
        var denial = upstream
        for family in families.members where denial.answer[family] == nil { denial.answer[family] = records.first }
        return denial
    }

    /// Uses this upstream's answer and cancels the questions to the others.
    private mutating func use(_ upstream: AskedUpstream, now: Moment) {
        if outcome.upstream == nil {
            for other in asked where other.index != upstream.index && other.isAwaited {
                actions.append(.cancel(upstream: other.index))
            }
            asked.removeAll { $0.index != upstream.index }
            outcome.upstream = upstream.index
            needsBothFamilies = !upstream.answer.hasAddresses(of: plan.reachable)
            if !needsBothFamilies { deliverAt = now + plan.resolutionDelay }
        }
        outcome.answer = upstream.answer
        outcome.arrivals = upstream.arrivals
        if !upstream.isAwaited {
            if let failure = upstream.failure { outcome.failures.append((upstream.index, failure)) }
            end()
        }
    }

    /// Records why an upstream gave no answer to use, and asks the next.
    private mutating func askNext(insteadOf upstream: AskedUpstream, now: Moment) {
        if let failure = upstream.failure {
            outcome.failures.append((upstream.index, failure))
        } else if upstream.answer.families.isEmpty {
            let error = UpstreamError(.malformedAnswer, "the answer does not contain the name")
            outcome.failures.append((upstream.index, error))
        } else if denial == nil {
            denial = (upstream.index, upstream.answer)
        }
        asked.removeAll { $0.index == upstream.index }
        askNext(now: now)
        endIfAllFailed()
    }

    private mutating func tick(now: Moment) {
        deliverIfDue(now: now)
        endOverdueQuestions(now: now)
        guard !isOver else { return }
        if deadline <= now {
            endAtDeadline()
        } else {
            hedgeIfDue(now: now)
        }
    }

    /// Delivers the answer for one family after the wait for the other.
    private mutating func deliverIfDue(now: Moment) {
        guard let at = deliverAt, at <= now else { return }
        deliverAt = nil
        hasDelivered = true
        actions.append(.deliver(outcome))
    }

    /// Ends the questions whose upstream has exceeded its budget.
    private mutating func endOverdueQuestions(now: Moment) {
        for upstream in asked where upstream.isAwaited && upstream.deadline <= now {
            guard !isOver else { return }
            let budget = upstream.candidate.budget
            // If the tick is much too late, as after the machine slept, the timeout is not the upstream's fault.
            let isLate = upstream.deadline + budget <= now
            actions.append(.cancel(upstream: upstream.index, silentSince: isLate ? nil : upstream.since))
            var overdue = upstream
            overdue.outstanding = []
            overdue.failure = UpstreamError(.timeLimit, "no answer within \(budget)")
            if let position = asked.firstIndex(where: { $0.index == upstream.index }) {
                asked[position].outstanding = []
            }
            evaluate(overdue, now: now)
        }
    }

    /// Ends the lookup at its time limit, with a denial if there is one.
    private mutating func endAtDeadline() {
        for upstream in asked where upstream.isAwaited {
            actions.append(.cancel(upstream: upstream.index))
            if outcome.upstream == nil, let denial = fullDenial(by: upstream) {
                outcome.upstream = upstream.index
                (outcome.answer, outcome.arrivals) = (denial.answer, denial.arrivals)
            }
        }
        useDenial()
        outcome.isOverdue = outcome.upstream == nil
        end()
    }

    /// Asks the next upstream in addition if the last one is slow.
    private mutating func hedgeIfDue(now: Moment) {
        guard outcome.upstream == nil, let hedge = hedgeAt, hedge <= now else { return }
        askNext(now: now)
    }

    /// When the next upstream is asked although the last one may still answer.
    private var hedgeAt: Moment? {
        asked.last.flatMap { last in last.candidate.hedgeAfter.map { last.since + $0 } }
    }

    private mutating func endIfAllFailed() {
        guard !isOver, asked.isEmpty, next >= plan.candidates.count else { return }
        useDenial()
        end()
    }

    /// Uses the denial without an SOA, because no better answer arrived.
    private mutating func useDenial() {
        guard outcome.upstream == nil, let denial else { return }
        outcome.upstream = denial.upstream
        outcome.answer = denial.answer
    }

    private mutating func end() {
        isOver = true
        asked = []
        actions.append(.end(outcome))
    }

    /// Returns the actions of this event, and forgets them.
    private mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }
}
