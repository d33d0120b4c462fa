// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names

/// Answers DNS messages: the state that all sockets of a ``DNSServer`` share.
final class DNSService: Sendable {
    enum Transport: UInt8, Sendable {
        case udp, tcp, tls

        var form: AccessRecord.Form {
            switch self {
            case .udp: .udp
            case .tcp: .tcp
            case .tls: .dot
            }
        }
    }

    enum MessageHandling: Sendable {
        /// No reply.
        case silence
        case reply([UInt8])
        /// The reply needs an upstream. Call ``DNSService/finishQuestion()`` after sending it. It may be held back only
        /// if no other question waits for it.
        case later(@Sendable () async -> [UInt8], mayBeHeld: Bool)
    }

    let configuration: DNSServerConfiguration
    let connections: ConnectionTable
    private let answerer: NIOLockedValueBox<Answerer>
    /// Guards all mutable state. Nothing slow runs under the lock.
    let state: NIOLockedValueBox<State>

    /// How long an encoded reply is reused for other clients. A popular name then needs no lookup and no encoding. The
    /// TTL of such a reply is wrong by less than this time.
    private static let memoTime = TimeAmount.seconds(1)
    private static let memoTTL: UInt32 = 1

    init(_ configuration: DNSServerConfiguration, answerer: Answerer) {
        self.configuration = configuration
        connections = ConnectionTable(
            allowed: configuration.maxConnections,
            clientLimit: configuration.connectionsPerClient,
            announcing: configuration.proxyProtocol,
            headerLimit: configuration.idleTimeout
        )
        self.answerer = NIOLockedValueBox(answerer)
        var state = State()
        state.limiter = configuration.questionsPerSecond.map {
            RateLimiter(perSecond: $0, burst: configuration.burst, maxClients: configuration.maxClients)
        }
        state.streamLimiter = state.limiter
        self.state = NIOLockedValueBox(state)
    }

    // MARK: Answering

    /// Handles a message from a client.
    ///
    /// - Parameter isFlooded: Whether so many questions wait at the client's socket that no further one may wait.
    func handle(
        _ message: [UInt8],
        from client: IPAddress,
        _ transport: Transport,
        now: NIODeadline,
        isFlooded: Bool = false
    ) -> MessageHandling {
        let query: QueryHead
        do throws(QueryHead.Fault) {
            query = try QueryHead(message)
        } catch {
            guard case .malformed(let start) = error else { return .silence }
            let isAnswered = state.withLockedValue { state in
                guard Self.permission(client, transport, now: now, in: &state) != .refused else { return false }
                state.counters.add(transport, .formatError, time: .zero)
                return true
            }
            return isAnswered ? .reply(ReplyBody.header(start, .formatError)) : .silence
        }
        let form = form(for: query, transport)
        let key = Key(query, asksSystem: configuration.privateNames.includes(client))
        // The access log needs the name and the source of each answer, which encoded replies do not have.
        let isMemorable = query.fault == nil && query.options.subnet == nil && configuration.accessLog == nil
        let (permission, memo, generation) = state.withLockedValue { state -> (Permission, Memo?, Int) in
            let permission = Self.permission(client, transport, now: now, in: &state)
            guard permission == .allowed, isMemorable, let memo = state.replies.find(key), memo.expiresAt > now else {
                return (permission, nil, state.generation)
            }
            state.counters.add(transport, memo.outcome, time: nil)
            return (permission, memo, state.generation)
        }
        switch permission {
        case .allowed: break
        case .refused: return .silence
        case .limited:
            var form = form
            form.maxSize = 0
            let body = ReplyBody(ServerAnswer(), question: query.onlyQuestion)
            return body.map { .reply($0.reply(to: query, form)) } ?? .silence
        }
        if let memo { return .reply(memo.body.reply(to: query, form)) }
        let arrival = Arrival(
            query: query,
            key: isMemorable ? key : nil,
            client: client,
            transport: transport,
            form: form,
            time: now,
            generation: generation
        )
        return answer(arrival, isFlooded: isFlooded)
    }

    /// A query with its client, transport and time.
    struct Arrival: Sendable {
        var query: QueryHead
        /// Nil if the reply is for this client only.
        var key: Key?
        var client: IPAddress
        var transport: Transport
        var form: ReplyBody.Form
        var time: NIODeadline
        /// The ``State/generation`` at the arrival.
        var generation: Int
    }

    private func answer(_ arrival: Arrival, isFlooded: Bool) -> MessageHandling {
        let query = arrival.query
        let finish = { @Sendable [self] (answer: ServerAnswer) in reply(to: arrival, with: answer) }
        if let fault = query.fault { return .reply(finish(ServerAnswer(fault))) }
        var asked = MessageQuery(query)
        if configuration.passesSubnets { asked.subnet = query.options.subnet.flatMap(SubnetPolicy.allowed) }
        let answerer = answerer.withLockedValue { $0 }.serving(arrival.client)
        let step = answerer.step(asked)
        if let answer = answerer.known(step, refreshes: query.wantsRecursion) { return .reply(finish(answer)) }
        guard query.wantsRecursion || answerer.isKnownHere(step) else {
            // Not kept: the same question with RD gets a whole answer.
            var arrival = arrival
            arrival.key = nil
            return .reply(reply(to: arrival, with: answerer.answerWithoutRecursion(step)))
        }
        let isLimited = configuration.questionsPerSecond != nil && !arrival.client.isLoopback
        let subscriber = isLimited ? Subscriber(arrival.client, arrival.transport) : nil
        let mayWait = !isFlooded || answerer.needsNoUpstream(step)
        guard
            mayWait, hasRoom(arrival.transport),
            answerer.hasRoom(step, leavesReserve: arrival.transport == .udp)
        else { return refusal(of: arrival, stale: answerer.stale(step)) }
        let system = answerer.systemQuestion(step)
        switch admit(arrival, system, of: subscriber) {
        case .copy: return .silence
        case .busy: return refusal(of: arrival, stale: answerer.stale(step))
        case .refused(let answer): return .reply(finish(answer))
        case .first:
            let wait = { @Sendable [self] in
                let answer = await answerer.answer(step)
                left(system, of: subscriber)
                return finish(answer)
            }
            return .later(wait, mayBeHeld: system == nil)
        case .joined(let first):
            let wait = { @Sendable [self] in
                let hasEnded = await Self.hasEnded(first, within: configuration.loopTime)
                // The answer to the first question is in the cache now.
                let answer = hasEnded ? await answerer.answer(step) : Self.loop
                left(nil, of: subscriber)
                return finish(answer)
            }
            return .later(wait, mayBeHeld: false)
        }
    }

    /// Makes a reply, keeps it for other clients and counts it.
    func reply(to arrival: Arrival, with answer: ServerAnswer) -> [UInt8] {
        let query = arrival.query
        var answer = answer
        let body: ReplyBody
        if !answer.isFailure, let whole = ReplyBody(answer, question: query.onlyQuestion) {
            body = whole
        } else {
            if !answer.isFailure { answer = ServerAnswer(.serverFailure) }
            body = ReplyBody(failure: answer.code, errors: answer.errors, to: query)
        }
        let now = NIODeadline.now()
        let time = Duration.nanoseconds((now - arrival.time).nanoseconds)
        state.withLockedValue { state in
            state.counters.add(arrival.transport, answer.code, time: time)
            // After a change, the answer may come from an upstream that is no longer used.
            if let key = arrival.key, answer.ttl >= Self.memoTTL, arrival.generation == state.generation {
                state.replies.store(Memo(body: body, outcome: answer.code, expiresAt: now + Self.memoTime), for: key)
            }
        }
        let octets = body.reply(to: query, arrival.form)
        if let log = configuration.accessLog {
            let question = query.onlyQuestion
            log(
                AccessRecord(
                    client: arrival.client,
                    form: arrival.transport.form,
                    account: nil,
                    names: AccessRecord.text(of: question.map { [$0.name] } ?? []),
                    types: question?.type.label ?? "",
                    status: 0,
                    outcome: answer.code.description,
                    source: answer.source,
                    octets: octets.count,
                    time: time
                )
            )
        }
        return octets
    }

    private func form(for query: QueryHead, _ transport: Transport) -> ReplyBody.Form {
        let largest = max(512, min(configuration.maxUDPPayloadBytes, 65_535))
        return ReplyBody.Form(
            maxSize: transport == .udp ? min(query.options.maxPayload, largest) : DNSMessage.maxOctets,
            payload: UInt16(largest),
            paddingBlock: transport == .tls ? MessageDialect.paddingBlock : nil,
            usesSubnets: configuration.passesSubnets
        )
    }

    /// Counts a reply over UDP that the socket could not take.
    func dropped() { state.withLockedValue { $0.counters.dropped += 1 } }

    /// Records that the reply of a ``MessageHandling/later(_:mayBeHeld:)`` was sent.
    func finishQuestion() { state.withLockedValue { $0.waiting -= 1 } }

    /// Changes the rules, zones or resolvers that answers come from.
    func use(_ change: (inout Answerer) -> Void) {
        answerer.withLockedValue { change(&$0) }
        state.withLockedValue { state in
            state.generation += 1
            state.replies.removeAll()
        }
    }

    // MARK: Reports

    /// Counts files that could not be read again.
    func noteReloadFailures(_ count: Int = 1) { state.withLockedValue { $0.counters.reloadFailures += count } }

    /// The text of `/metrics`.
    func report(_ lookups: LookupReport) -> String {
        let (counters, waiting) = state.withLockedValue { ($0.counters, $0.waiting) }
        return counters.text(lookups, waiting: waiting, connections: connections.counts)
    }

    /// The number of answers that wait for upstreams.
    var waiting: Int { state.withLockedValue { $0.waiting } }
    var isDraining: Bool { connections.isClosed }
    func drain() { connections.close() }
    var counters: DNSCounters { state.withLockedValue { $0.counters } }
}
