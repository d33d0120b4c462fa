// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers

/// Questions to the upstreams.
extension MessageForwarder {
    /// Asks the upstreams, stores the answer and gives it to the questions that wait.
    ///
    /// - Parameter id: The query. Nothing is stored if its last question was cancelled meanwhile.
    func ask(_ query: MessageQuery, key: Key, id: Int) async {
        let (found, failures) = await askUpstreams(query)
        let now = clock.now
        let (answer, waiters) = state.withLockedValue {
            state -> (ServerAnswer, [AsyncStream<ServerAnswer>.Continuation]) in
            guard state.queries[key]?.id == id else { return (ServerAnswer(.serverFailure), []) }
            let waiters = state.queries.removeValue(forKey: key)?.waiters ?? []
            guard let found, !found.isFailure else {
                return (fallBack(key, failure: found, of: failures, now: now, in: &state), waiters)
            }
            let ttl = min(Duration.seconds(found.ttl), maxTTL(of: key.question))
            state.answers.store(Entry(answer: found, storedAt: now, expiresAt: now + ttl), for: key)
            return (found, waiters)
        }
        for waiter in waiters {
            waiter.yield(answer)
            waiter.finish()
        }
    }

    /// The stale answer, or the failure if there is none. Either is used for a while without asking again.
    ///
    /// - Parameter failures: Why upstreams gave no answer.
    private func fallBack(
        _ key: Key,
        failure: ServerAnswer?,
        of failures: [ResolutionError.Failure],
        now: ContinuousClock.Instant,
        in state: inout State
    ) -> ServerAnswer {
        if var entry = usableStale(key, now: now, in: &state) {
            entry.recheckAt = now + cache.staleRecheck
            state.answers.store(entry, for: key)
            return Self.stale(entry)
        }
        var answer = failure ?? ServerAnswer(.serverFailure, errors: [.noReachableServer])
        answer.source = failure == nil ? "allUpstreamsFailed" : "upstream"
        // Stored without the texts of the failures, which would exceed the size that is counted.
        state.answers.store(Entry(answer: answer, storedAt: now, expiresAt: now + cache.failureTTL), for: key)
        if failure == nil { answer.failures = failures }
        return answer
    }

    /// Asks the upstreams in turn until one answers. If none does, returns the last failure response, or nil if there
    /// was no response; and why the others gave no answer.
    private func askUpstreams(
        _ query: MessageQuery
    ) async -> (answer: ServerAnswer?, failures: [ResolutionError.Failure]) {
        let start = clock.now
        let first = state.withLockedValue { state in
            if let preferredAt = state.preferredAt, preferredAt <= start { (state.first, state.preferredAt) = (0, nil) }
            return state.first
        }
        var query = query
        // The cached answer keeps AD for later clients that ask for it.
        query.wantsVerdict = true
        var failure: ServerAnswer?
        var failures: [ResolutionError.Failure] = []
        for step in upstreams.indices {
            let left = lookups.total - (clock.now - start)
            guard left > .zero, !Task.isCancelled else { break }
            let index = (first + step) % upstreams.count
            let upstream = upstreams[index]
            let askedAt = clock.now
            state.withLockedValue { $0.questionsSent += 1 }
            let result: Result<DNSMessage, UpstreamError>? = await firstResult(within: min(lookups.upstream, left)) {
                [query] in await Self.result(of: query, by: upstream)
            }
            let response = try? result?.get()
            let time = clock.now - askedAt
            if response != nil || !Task.isCancelled {
                state.withLockedValue { $0.times[index].record(time, isAnswer: response != nil) }
            }
            note(hasResponded: response != nil, index, askedAt: askedAt)
            guard let response, let answer = usable(response, query, isTrusted: upstream.isAuthenticated) else {
                failures.append(ResolutionError.Failure(upstream: upstream.name, error: Self.error(of: result)))
                continue
            }
            guard !answer.isFailure else {
                failure = answer
                continue
            }
            if step > 0 { prefer(index, to: first) }
            return (answer, failures)
        }
        return (failure, failures)
    }

    private static func result(
        of query: MessageQuery,
        by upstream: any MessageUpstream
    ) async -> Result<DNSMessage, UpstreamError> {
        do throws(UpstreamError) {
            return .success(try await upstream.response(to: query))
        } catch {
            return .failure(error)
        }
    }

    /// The error of an upstream without a usable response; `result` is nil after the time limit.
    private static func error(of result: Result<DNSMessage, UpstreamError>?) -> UpstreamError {
        switch result {
        case .failure(let error)?: error
        case .success?: UpstreamError(.bogusAnswer, "its answer is not for the question, or has a refused address")
        case nil: UpstreamError(.timeLimit, "no answer in time")
        }
    }

    /// Records whether an upstream has responded. A missing response does not count if the upstream has since responded
    /// to another question: then the upstream waits for the servers of the name's zone, which are at fault.
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

    /// Asks an upstream first for a while, if the present first one no longer responds. An upstream that reports
    /// failures stays first, because they may concern a single name.
    private func prefer(_ index: Int, to first: Int) {
        let preferredAt = index == 0 ? nil : clock.now + limits.failover
        state.withLockedValue { state in
            guard state.health[first].silences >= limits.silencesUntilDown else { return }
            (state.first, state.preferredAt) = (index, preferredAt)
        }
    }

    /// The maximum time that the answer to a question is cached.
    private func maxTTL(of question: DNSQuestion) -> Duration {
        let range = NameHost(question.name).map { cache.ttlRange(of: $0.host) }
        return (range ?? cache.ttlRange).upperBound
    }

    /// The answer of a response; nil if the response fails the checks of addresses and aliases.
    ///
    /// - Parameter isTrusted: Whether the transport protects the response against changes.
    func usable(_ message: DNSMessage, _ query: MessageQuery, isTrusted: Bool) -> ServerAnswer? {
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
        let longest = maxTTL(of: query.question)
        let bound = answer.isNegative ? min(longest, cache.maxNegativeTTL) : longest
        answer.limitTTL(to: UInt32(clamping: bound.components.seconds))
        answer.answers.equalizeTTLs()
        if answer.isNegative {
            // The MINIMUM of the SOA does not age, so the TTL becomes the time that is left (RFC 2308 §5).
            let ttl = answer.ttl
            for index in answer.authorities.indices {
                answer.authorities[index].ttl = min(answer.authorities[index].ttl, ttl)
            }
        }
        return answer
    }
}
