// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOPosix

/// Asks upstreams, and reports their checked answers to the ``LookupMachine``.
extension Resolver {
    /// A task that asks an upstream, and that ``shutDown()`` waits for. It runs on an event loop, the caller's if it has
    /// one, so that writing the question and reading the answer need no thread hop.
    func makeTask(_ ask: @escaping @Sendable (Resolver) async -> Void) -> Task<Void, Never> {
        guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task { await ask(self) }
        }
        let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.currentEventLoop ?? loop)
        return Task(executorPreference: executor) { await ask(self) }
    }

    func ask(_ question: PendingServiceQuestion) async {
        let result: Result<ServiceReply, UpstreamError>
        do throws(UpstreamError) {
            guard let upstream = upstreams[question.id.upstream] as? any RecordUpstream else {
                throw UpstreamError(.unsupported, "the upstream carries addresses only")
            }
            var reply = try await upstream.services(question.question)
            reply.isAuthenticated = upstream.isAuthenticated
            try configuration.check.check(reply.records)
            result = .success(reply)
        } catch {
            result = .failure(error)
        }
        handle(.servicesAnswered(question.id, result), now: time.now())
        questionEnded { $0.serviceQuestions[question.id] = nil }
    }

    func ask(_ question: UpstreamQuestion, since begin: Moment) async {
        if configuration.cache.shared != nil {
            await askSharing(question)
        } else {
            answered(question, with: await result(of: question), since: begin)
        }
        questionEnded { $0.questions[question.id] = nil }
    }

    /// Asks ``ResolverConfiguration/Cache/shared`` first, and shares a new answer.
    private func askSharing(_ question: UpstreamQuestion) async {
        if !question.context.isFresh, let answer = await sharedAnswer(to: question) {
            return handle(.answered(question, .success(answer), after: nil), now: time.now())
        }
        // The upstream's response time excludes the query of the shared answers.
        let begin = time.now()
        let result = await result(of: question)
        answered(question, with: result, since: begin)
        // The answer is delivered; no caller waits for this.
        if case .success(let answer) = result { await share(answer, to: question) }
    }

    /// An upstream's answer to another resolver, checked like an answer to this one.
    private func sharedAnswer(to question: UpstreamQuestion) async -> Answer? {
        let upstream = upstreams[question.id.upstream]
        guard let shared = configuration.cache.shared, upstream.kind == .service,
            let answer = await shared.answer(to: question.question, from: upstream.name),
            var checked = try? configuration.check.checked(answer, from: upstream.kind)
        else { return nil }
        checked.isShared = true
        configuration.metrics?.shared(upstream.name)
        return checked
    }

    /// Shares an upstream's answer with other resolvers. An answer with ``Answer/extra`` is not shared, because that is
    /// specific to the client.
    private func share(_ answer: Answer, to question: UpstreamQuestion) async {
        let upstream = upstreams[question.id.upstream]
        guard let shared = configuration.cache.shared, answer.extra == nil, upstream.kind == .service else { return }
        await shared.share(answer, to: question.question, from: upstream.name)
    }

    private func result(of question: UpstreamQuestion) async -> Result<Answer, UpstreamError> {
        await checkedAnswer(to: question.question, from: question.id.upstream, isTrusted: question.context.isTrusted)
    }

    // Kept out of the async function so that its frame stays small.
    @inline(never)
    private func answered(_ question: UpstreamQuestion, with result: Result<Answer, UpstreamError>, since begin: Moment)
    {
        let now = time.now()
        configuration.metrics?.answered(by: upstreams[question.id.upstream].name, with: result, after: now - begin)
        handle(.answered(question, result, after: now - begin), now: now)
    }

    /// The answer of an upstream if it passes the checks.
    func checkedAnswer(
        to question: Question,
        from index: Int,
        isTrusted: Bool
    ) async -> Result<Answer, UpstreamError> {
        do throws(UpstreamError) {
            return .success(try checked(try await upstreams[index].answer(question), from: index, isTrusted: isTrusted))
        } catch {
            return .failure(error)
        }
    }

    @inline(never)
    private func checked(_ answer: Answer, from index: Int, isTrusted: Bool) throws(UpstreamError) -> Answer {
        try configuration.check.checked(answer, from: isTrusted ? .fixed : upstreams[index].kind)
    }
}
