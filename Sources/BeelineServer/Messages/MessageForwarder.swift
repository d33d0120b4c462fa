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

    struct Entry {
        var answer: ServerAnswer
        var storedAt: ContinuousClock.Instant
        var expiresAt: ContinuousClock.Instant
        /// The time until which the stale answer is used without asking upstreams again. Nil if it is not used.
        var recheckAt: ContinuousClock.Instant?
    }

    /// A query to the upstreams, and the questions that wait for it.
    struct Query {
        let id: Int
        var task: Task<Void, Never>?
        /// The number of questions that were not cancelled. Those that got a stale answer count, too.
        var wanted = 0
        var waiters: [AsyncStream<ServerAnswer>.Continuation] = []
    }

    struct Health {
        /// The questions without a response since the last response.
        var silences = 0
        var respondedAt: ContinuousClock.Instant?
    }

    struct State {
        var answers: GenerationCache<Key, Entry>
        var queries: [Key: Query] = [:]
        var lastID = 0
        var health: [Health]
        /// The index of the upstream to ask first, and the time at which the preferred one is asked first again.
        var first = 0
        var preferredAt: ContinuousClock.Instant?
        /// When the upstreams were last probed.
        var probedAt: ContinuousClock.Instant?
        var isClosed = false
        var times: [UpstreamTimes]
        var questionsSent = 0
    }

    let upstreams: [any MessageUpstream]
    let check: AnswerCheck
    let limits: Limits
    let cache: ResolverConfiguration.Cache
    let lookups: ResolverConfiguration.Limits
    private let network: @Sendable () -> String
    let clock = ContinuousClock()
    let state: NIOLockedValueBox<State>

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
        self.limits = limits
        cache = configuration.cache
        lookups = configuration.limits
        let answers = GenerationCache<Key, Entry>(maxCount: limits.maxAnswers, maxCost: limits.maxOctets) {
            $0.answer.cost
        }
        let times = Array(repeating: UpstreamTimes(), count: upstreams.count)
        let health = [Health](repeating: Health(), count: upstreams.count)
        state = NIOLockedValueBox(State(answers: answers, health: health, times: times))
    }

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

    static func stale(_ entry: Entry) -> ServerAnswer {
        var answer = entry.answer
        answer.limitTTL(to: Answerer.staleTTL)
        answer.errors = [answer.code == .noSuchName ? .staleAbsence : .staleAnswer]
        answer.source = "stale"
        return answer
    }

    /// The answer within its TTL, or one past it; nil if there is none that may be used.
    func stale(_ query: MessageQuery) -> ServerAnswer? {
        if let known = known(query) { return known }
        let (key, now) = (Key(query, in: network()), clock.now)
        return state.withLockedValue { usableStale(key, now: now, in: &$0) }.map(Self.stale)
    }

    /// The answer past its TTL that may be used; nil if there is none.
    func usableStale(_ key: Key, now: ContinuousClock.Instant, in state: inout State) -> Entry? {
        guard let entry = state.answers.find(key), !entry.answer.isFailure, now - entry.expiresAt < cache.maxStale
        else { return nil }
        return entry
    }

    /// Whether a query may start now, or is under way.
    ///
    /// - Parameter leavesReserve: Whether a quarter of the queries is left to others.
    func hasRoom(_ query: MessageQuery, leavesReserve: Bool) -> Bool {
        let key = Key(query, in: network())
        return state.withLockedValue { state in
            if state.queries[key] != nil || hasRoom(state, leavesReserve: leavesReserve) { return true }
            probe(&state, in: key.network)
            return false
        }
    }

    private func areDown(_ state: State) -> Bool {
        state.health.allSatisfy { $0.silences >= limits.silencesUntilDown }
    }

    private func maxQueries(_ state: State) -> Int {
        areDown(state) ? min(limits.maxQueriesWhileDown, limits.maxQueries) : limits.maxQueries
    }

    /// Asks upstreams that are down for the name servers of the root, which all of them know, once a second. Called
    /// when a question finds no room: a client may hold all places with names whose servers are silent, and then no
    /// other question could find out that the upstreams respond.
    private func probe(_ state: inout State, in network: String) {
        let now = clock.now
        let isDue = state.probedAt.map { now - $0 >= .seconds(1) } ?? true
        guard isDue, areDown(state), !state.isClosed else { return }
        let query = MessageQuery(DNSQuestion(.root, DNSType(rawValue: 2)))
        let key = Key(query, in: network)
        guard state.queries[key] == nil else { return }
        state.probedAt = now
        start(query, for: key, in: &state)
    }

    private func start(_ query: MessageQuery, for key: Key, in state: inout State) {
        state.lastID += 1
        let id = state.lastID
        state.queries[key] = Query(id: id, task: Task { await self.ask(query, key: key, id: id) })
    }

    /// Whether a further query may start now.
    private func hasRoom(_ state: State, leavesReserve: Bool = false) -> Bool {
        let most = maxQueries(state)
        return state.queries.count < most - (leavesReserve ? most / 4 : 0) && !state.isClosed
    }

    /// The answer. Asks upstreams if necessary. If they are slow and there is an answer past its TTL, returns that
    /// answer, and the query continues for later questions. A cancelled question gets a failure at once.
    func answer(_ query: MessageQuery) async -> ServerAnswer {
        if let known = known(query) { return known }
        let key = Key(query, in: network())
        let (stream, continuation) = AsyncStream.makeStream(of: ServerAnswer.self, bufferingPolicy: .bufferingNewest(1))
        let now = clock.now
        let (id, stale) = state.withLockedValue { state -> (Int?, Entry?) in
            let stale = usableStale(key, now: now, in: &state)
            if state.queries[key] == nil {
                guard hasRoom(state) else {
                    probe(&state, in: key.network)
                    return (nil, stale)
                }
                start(query, for: key, in: &state)
            }
            state.queries[key]?.wanted += 1
            state.queries[key]?.waiters.append(continuation)
            return (state.queries[key]?.id, stale)
        }
        guard let id else {
            let failure = ServerAnswer(.serverFailure, source: "tooManyLookups", errors: [.noReachableServer])
            return stale.map(Self.stale) ?? failure
        }
        let wait = { @Sendable () -> ServerAnswer? in
            for await answer in stream { return answer }
            return nil
        }
        guard let stale else {
            if let answer = await wait() { return answer }
            leave(id, key: key)
            return ServerAnswer(.serverFailure, source: "cancelled")
        }
        return await firstResult(within: cache.staleAnswerDelay, of: wait) ?? Self.stale(stale)
    }

    /// Ends a query whose last question was cancelled, while more than a quarter of the places are taken. Otherwise a
    /// client that cancels its questions at once could take the places of all clients. Other queries go on: a client
    /// that gives up early asks again, and an upstream that is silent must be noticed.
    private func leave(_ id: Int, key: Key) {
        let task = state.withLockedValue { state -> Task<Void, Never>? in
            guard let query = state.queries[key], query.id == id else { return nil }
            state.queries[key]?.wanted -= 1
            let isScarce = state.queries.count > maxQueries(state) / 4
            return query.wanted == 1 && isScarce ? state.queries.removeValue(forKey: key)?.task : nil
        }
        task?.cancel()
    }

    /// Cancels all queries. Further questions fail.
    func close() {
        let tasks = state.withLockedValue { state in
            state.isClosed = true
            return state.queries.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
    }
}
