// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import Names

/// Answers questions of any type from upstreams that carry DNS messages, and caches their answers.
///
/// Questions for the same records share one query. If no upstream has a new answer, an answer past its TTL is used (RFC
/// 8767).
final class MessageForwarder: Sendable {
    /// Identifies queries that have the same answer.
    struct Key: Hashable, Sendable {
        let question: DNSQuestion
        let subnet: IPNetwork?
        /// DO and CD.
        let checks: UInt8
        /// The network in which the answer was received.
        let network: String

        init(_ query: MessageQuery, in network: String) {
            self.network = network
            question = query.question
            subnet = query.subnet
            checks = (query.wantsSignatures ? 2 : 0) | (query.isUnchecked ? 1 : 0)
        }
    }

    /// The limits of the cache and of queries.
    struct Limits: Sendable {
        /// The maximum number and the maximum estimated octets of the answers in each half of the cache.
        var maxAnswers = 10_000
        var maxOctets = 16 << 20
        /// The maximum number of concurrent queries. Further questions fail.
        var maxQueries = 1_024
        /// The time limits for one upstream, and for all of them together.
        var upstream = Duration.seconds(2)
        var whole = Duration.seconds(5)
        /// The maximum time that an answer is cached, and the maximum time after its TTL that it may be used.
        var maxTTL = Duration.seconds(86_400)
        var maxStale = Duration.seconds(43_200)
        /// The maximum time that the absence of records is cached.
        var maxNegativeTTL = Duration.seconds(300)
        /// How long another upstream is asked first after the preferred one has failed.
        var failover = Duration.seconds(60)
        /// The questions without a response in a row after which another upstream is asked first.
        var silencesUntilDown = 3
        /// The maximum number of concurrent queries while no upstream responds. Without this bound, a flood of names would
        /// open hundreds of sockets a second, which delays the answers for cached names.
        var maxQueriesWhileDown = 16
        /// How long a question waits for upstreams if there is an answer past its TTL (RFC 8767 §5).
        var staleAnswerDelay = Duration.milliseconds(1_800)
        /// How long a failure is cached (RFC 9520 §3.2), and how long a stale answer is used before upstreams are asked
        /// again.
        var failureTTL = Duration.seconds(1)
        var staleRecheck = Duration.seconds(30)
    }

    private struct Entry {
        var answer: ServerAnswer
        var storedAt: ContinuousClock.Instant
        var expiresAt: ContinuousClock.Instant
        /// The time until which the stale answer is used without asking upstreams again. Nil if it is not used.
        var recheckAt: ContinuousClock.Instant?
    }

    /// A query to the upstreams, and the questions that wait for it.
    private struct Query {
        var task: Task<Void, Never>?
        var waiters: [AsyncStream<ServerAnswer>.Continuation] = []
    }

    /// What is known of an upstream.
    private struct Health {
        /// The questions without a response since the last response.
        var silences = 0
        var respondedAt: ContinuousClock.Instant?
    }

    private struct State {
        var answers: GenerationCache<Key, Entry>
        var queries: [Key: Query] = [:]
        var health: [Health]
        /// The index of the upstream to ask first, and the time at which the preferred one is asked first again.
        var first = 0
        var preferredAt: ContinuousClock.Instant?
        var isClosed = false
        /// The response times of the upstreams.
        var times: [UpstreamTimes]
        var questionsSent = 0
    }

    private let upstreams: [any MessageUpstream]
    private let check: AnswerCheck
    private let limits: Limits
    private let network: @Sendable () -> String
    private let clock = ContinuousClock()
    private let state: NIOLockedValueBox<State>

    /// - Parameter network: The identity of the current network. Answers are cached separately for each network,
    ///   because upstreams may give different answers in different networks.
    init(
        _ configuration: ResolverConfiguration,
        limits: Limits = Limits(),
        network: @escaping @Sendable () -> String = { "" }
    ) {
        self.network = network
        upstreams = configuration.upstreams.compactMap { $0 as? any MessageUpstream }
        check = configuration.check
        var limits = limits
        (limits.upstream, limits.whole) = (configuration.limits.upstream, configuration.limits.whole)
        limits.maxStale = configuration.cache.maxStale
        limits.maxNegativeTTL = configuration.cache.maxNegativeTTL
        limits.staleAnswerDelay = configuration.cache.staleAnswerDelay
        self.limits = limits
        let answers = GenerationCache<Key, Entry>(maxCount: limits.maxAnswers, maxCost: limits.maxOctets) {
            $0.answer.cost
        }
        let times = Array(repeating: UpstreamTimes(), count: upstreams.count)
        let health = [Health](repeating: Health(), count: upstreams.count)
        state = NIOLockedValueBox(State(answers: answers, health: health, times: times))
    }

    /// The name and the response times of each upstream.
    var upstreamTimes: [(name: String, times: UpstreamTimes)] {
        let times = state.withLockedValue { $0.times }
        return zip(upstreams, times).map { (name: $0.name, times: $1) }
    }

    /// Whether an upstream carries messages.
    var hasUpstreams: Bool { !upstreams.isEmpty }

    /// The number of cached answers.
    var count: Int { state.withLockedValue { $0.answers.count } }

    /// The number of questions sent to upstreams so far.
    var questionsSent: Int { state.withLockedValue { $0.questionsSent } }

    /// The answer within its TTL, or a stale one if upstreams failed recently. Nil if an upstream must be asked.
    func known(_ query: MessageQuery) -> ServerAnswer? {
        let now = clock.now
        let network = self.network()
        guard let entry = state.withLockedValue({ $0.answers.find(Key(query, in: network)) }) else { return nil }
        guard entry.expiresAt > now else {
            return entry.recheckAt.map { $0 > now } ?? false ? Self.stale(entry) : nil
        }
        var answer = entry.answer
        answer.age(by: UInt32(clamping: (now - entry.storedAt).components.seconds))
        if answer.source == "fresh" { answer.source = "cached" }
        return answer
    }

    /// The TTL of a stale answer, in seconds (RFC 8767 §4).
    private static let staleTTL: UInt32 = 30

    private static func stale(_ entry: Entry) -> ServerAnswer {
        var answer = entry.answer
        answer.limitTTL(to: staleTTL)
        answer.errors = [answer.code == .noSuchName ? .staleAbsence : .staleAnswer]
        answer.source = "stale"
        return answer
    }

    /// The answer. Asks upstreams if necessary. If they take long and there is an answer past its TTL, that is used, and the query
    /// goes on for later questions. A cancelled question gets a failure at once.
    func answer(_ query: MessageQuery) async -> ServerAnswer {
        if let known = known(query) { return known }
        let key = Key(query, in: network())
        let (stream, continuation) = AsyncStream.makeStream(of: ServerAnswer.self, bufferingPolicy: .bufferingNewest(1))
        let now = clock.now
        let (isAsking, stale) = state.withLockedValue { state -> (Bool, Entry?) in
            let stale = usableStale(key, now: now, in: &state)
            if state.queries[key] == nil {
                let areDown = state.health.allSatisfy { $0.silences >= limits.silencesUntilDown }
                let maxQueries = areDown ? min(limits.maxQueriesWhileDown, limits.maxQueries) : limits.maxQueries
                guard state.queries.count < maxQueries, !state.isClosed else { return (false, stale) }
                state.queries[key] = Query()
                state.queries[key]?.task = Task { await self.ask(query, key: key) }
            }
            state.queries[key]?.waiters.append(continuation)
            return (true, stale)
        }
        guard isAsking else {
            let failure = ServerAnswer(.serverFailure, source: "tooManyLookups", errors: [.noReachableServer])
            return stale.map(Self.stale) ?? failure
        }
        let wait = { @Sendable () -> ServerAnswer? in
            for await answer in stream { return answer }
            return nil
        }
        guard let stale else { return await wait() ?? ServerAnswer(.serverFailure, source: "cancelled") }
        return await Self.within(limits.staleAnswerDelay, on: clock, wait) ?? Self.stale(stale)
    }

    /// Cancels all queries. Further questions fail.
    func close() {
        let tasks = state.withLockedValue { state in
            state.isClosed = true
            return state.queries.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }

    // MARK: Asking

    private func ask(_ query: MessageQuery, key: Key) async {
        let found = await askUpstreams(query)
        let now = clock.now
        let (answer, waiters) = state.withLockedValue { state in
            let waiters = state.queries.removeValue(forKey: key)?.waiters ?? []
            guard let found, !found.isFailure else {
                return (fallBack(key, failure: found, now: now, in: &state), waiters)
            }
            let ttl = min(Duration.seconds(found.ttl), limits.maxTTL)
            state.answers.store(Entry(answer: found, storedAt: now, expiresAt: now + ttl), for: key)
            return (found, waiters)
        }
        for waiter in waiters {
            waiter.yield(answer)
            waiter.finish()
        }
    }

    /// The answer past its TTL that may be used; nil if there is none.
    private func usableStale(_ key: Key, now: ContinuousClock.Instant, in state: inout State) -> Entry? {
        guard let entry = state.answers.find(key), !entry.answer.isFailure, now - entry.expiresAt < limits.maxStale
        else { return nil }
        return entry
    }

    /// The stale answer, or the failure if there is none. Either is used for a while without asking again.
    private func fallBack(
        _ key: Key,
        failure: ServerAnswer?,
        now: ContinuousClock.Instant,
        in state: inout State
    ) -> ServerAnswer {
        if var entry = usableStale(key, now: now, in: &state) {
            entry.recheckAt = now + limits.staleRecheck
            state.answers.store(entry, for: key)
            return Self.stale(entry)
        }
        var answer = failure ?? ServerAnswer(.serverFailure, errors: [.noReachableServer])
        answer.source = failure == nil ? "allUpstreamsFailed" : "upstream"
        state.answers.store(Entry(answer: answer, storedAt: now, expiresAt: now + limits.failureTTL), for: key)
        return answer
    }

    /// Asks the upstreams in turn until one answers. If none does, returns the last failure response, or nil if there
    /// was no response.
    private func askUpstreams(_ query: MessageQuery) async -> ServerAnswer? {
        let start = clock.now
        let first = state.withLockedValue { state in
            if let preferredAt = state.preferredAt, preferredAt <= start { (state.first, state.preferredAt) = (0, nil) }
            return state.first
        }
        var query = query
        // The cached answer keeps AD for later clients that ask for it.
        query.wantsVerdict = true
        var failure: ServerAnswer?
        for step in upstreams.indices {
            let left = limits.whole - (clock.now - start)
            guard left > .zero, !Task.isCancelled else { break }
            let index = (first + step) % upstreams.count
            let upstream = upstreams[index]
            let askedAt = clock.now
            state.withLockedValue { $0.questionsSent += 1 }
            let response = await Self.within(min(limits.upstream, left), on: clock) { [query] () -> DNSMessage? in
                try? await upstream.response(to: query)
            }
            let time = clock.now - askedAt
            state.withLockedValue { $0.times[index].record(time, isAnswer: response != nil) }
            note(hasResponded: response != nil, index, askedAt: askedAt)
            guard let response, let answer = usable(response, query, isTrusted: upstream.isAuthenticated) else {
                continue
            }
            guard !answer.isFailure else {
                failure = answer
                continue
            }
            if step > 0 { prefer(index, to: first) }
            return answer
        }
        return failure
    }

    /// Records whether an upstream has responded. A missing response does not count if the upstream has since responded to another
    /// question: then the servers of the name's zone are at fault, which the upstream waits for.
    private func note(hasResponded: Bool, _ index: Int, askedAt: ContinuousClock.Instant) {
        guard !Task.isCancelled else { return }
        let now = clock.now
        state.withLockedValue { state in
            if hasResponded {
                state.health[index] = Health(silences: 0, respondedAt: now)
            } else if state.health[index].respondedAt.map({ $0 < askedAt }) ?? true {
                state.health[index].silences += 1
            }
        }
    }

    /// Asks an upstream first for a while, if the one that was asked first does not respond any more. One that reports failures
    /// stays first: they may be the fault of a single name.
    private func prefer(_ index: Int, to first: Int) {
        let preferredAt = index == 0 ? nil : clock.now + limits.failover
        state.withLockedValue { state in
            guard state.health[first].silences >= limits.silencesUntilDown else { return }
            (state.first, state.preferredAt) = (index, preferredAt)
        }
    }

    /// The answer of a response; nil if the response fails the checks of addresses and aliases.
    ///
    /// - Parameter isTrusted: Whether the transport protects the response against changes.
    private func usable(_ message: DNSMessage, _ query: MessageQuery, isTrusted: Bool) -> ServerAnswer? {
        var answer = ServerAnswer(message)
        if !isTrusted { answer.isVerified = false }
        guard !answer.isFailure else {
            // The records of a failure mean nothing, and are not checked.
            (answer.answers, answer.authorities, answer.additionals, answer.isVerified) = ([], [], [], false)
            return answer
        }
        guard message.questions == [query.question], answer.keepRecords(of: query.question.name),
            answer.answers.allSatisfy(check.accepts)
        else { return nil }
        answer.authorities.removeAll { !check.accepts($0) }
        answer.additionals.removeAll { !check.accepts($0) }
        let bound = answer.isNegative ? min(limits.maxTTL, limits.maxNegativeTTL) : limits.maxTTL
        answer.limitTTL(to: UInt32(clamping: bound.components.seconds))
        return answer
    }

    private static func within<Value: Sendable>(
        _ limit: Duration,
        on clock: ContinuousClock,
        _ work: @escaping @Sendable () async -> Value?
    ) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                try? await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
