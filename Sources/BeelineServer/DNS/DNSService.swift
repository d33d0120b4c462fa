// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import NIOConcurrencyHelpers
import NIOCore
import Names

/// Answers DNS messages: the state that all sockets of a ``DNSServer`` share.
final class DNSService: Sendable {
    /// The transport of a message.
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

    /// The result of handling a message.
    enum Handling: Sendable {
        /// No reply.
        case silence
        case reply([UInt8])
        /// The reply needs an upstream. Call ``DNSService/ended()`` after sending it.
        case later(@Sendable () async -> [UInt8])
    }

    /// Identifies queries whose replies differ only in ID, flags, letter case and EDNS.
    private struct Key: Hashable, Sendable {
        /// The question in lower case, followed by DO, CD and the client's rights.
        let octets: [UInt8]

        init(_ query: QueryHead, asksSystem: Bool) {
            var octets = Array(query.octets[12...])
            for index in octets.indices.dropLast(4) where (0x41...0x5a).contains(octets[index]) {
                octets[index] |= 0x20
            }
            octets.append(
                (query.options.wantsSignatures ? 1 : 0) | (query.isUnchecked ? 2 : 0) | (asksSystem ? 4 : 0)
            )
            self.octets = octets
        }
    }

    private struct Memo {
        var body: ReplyBody
        var outcome: DNSResponseCode
        var expiresAt: NIODeadline
    }

    /// A lookup by this machine's resolver.
    private struct SystemLookup {
        let client: IPAddress
        /// The ID of the query.
        let id: [UInt8]
        /// Questions that wait until the resolver has answered. If it asks this server, its question is among them.
        var joined: [AsyncStream<Void>.Continuation] = []
    }

    private struct State {
        var replies = GenerationCache<Key, Memo>(maxCount: 16_384, maxCost: 16 << 20) { $0.body.size + 128 }
        var limiter: RateLimiter?
        var counters = DNSCounters()
        var waiting = 0
        /// The names that this machine's resolver is being asked for. Bounded by `waiting`.
        var askingSystem: [DNSQuestion: SystemLookup] = [:]
        /// The number of waiting questions of each limited client, as a part of `waiting`.
        var waitingOf: [IPAddress: Int] = [:]
        var isDraining = false
        /// The number of changes of the names and upstreams.
        var generation = 0
        var connections: [IPAddress: Int] = [:]
        var connectionCount = 0
        /// Whether the next question above the limit gets a truncated reply.
        var answersLimited = false
    }

    let configuration: DNSServerConfiguration
    private let answerer: NIOLockedValueBox<Answerer>
    /// Guards all mutable state. Nothing slow runs under the lock.
    private let state: NIOLockedValueBox<State>

    /// How long an encoded reply is reused for other clients. A popular name then needs no lookup and no encoding. The
    /// TTL of such a reply is wrong by less than this time.
    private static let memoTime = TimeAmount.seconds(1)
    private static let memoTTL: UInt32 = 1
    /// The maximum number of questions that wait for one private name.
    private static let maxJoined = 256

    init(_ configuration: DNSServerConfiguration, answerer: Answerer) {
        self.configuration = configuration
        self.answerer = NIOLockedValueBox(answerer)
        var state = State()
        state.limiter = configuration.questionsPerSecond.map {
            RateLimiter(perSecond: $0, burst: configuration.burst, maxClients: configuration.maxClients)
        }
        self.state = NIOLockedValueBox(state)
    }

    // MARK: Answering

    /// Handles a message from a client.
    func handle(_ message: [UInt8], from client: IPAddress, _ transport: Transport, now: NIODeadline) -> Handling {
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
            let body = ReplyBody(ServerAnswer(), question: query.hasQuestion ? query.question : nil)
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
        return answer(arrival)
    }

    /// A query with its client, transport and time.
    private struct Arrival: Sendable {
        var query: QueryHead
        /// Nil if the reply is for this client only.
        var key: Key?
        var client: IPAddress
        var transport: Transport
        var form: ReplyBody.Form
        var time: NIODeadline
        /// Of ``State``.
        var generation: Int
    }

    private func answer(_ arrival: Arrival) -> Handling {
        let query = arrival.query
        let finish = { @Sendable [self] (answer: ServerAnswer) in reply(to: arrival, with: answer) }
        if let fault = query.fault { return .reply(finish(ServerAnswer(fault))) }
        var asked = MessageQuery(query)
        if configuration.passesSubnets { asked.subnet = query.options.subnet.flatMap(SubnetPolicy.standard.allowed) }
        let answerer = answerer.withLockedValue { $0 }.serving(arrival.client)
        if let answer = answerer.known(asked) { return .reply(finish(answer)) }
        let isLimited = configuration.questionsPerSecond != nil && !arrival.client.isLoopback
        let subscriber = isLimited ? arrival.client.ofSubscriber : nil
        let system = answerer.systemQuestion(asked)
        let admission = state.withLockedValue { admit(arrival, system, of: subscriber, in: &$0) }
        switch admission {
        case .copy: return .silence
        case .refused(let answer): return .reply(finish(answer))
        case .first:
            return .later { [asked, self] in
                let answer = await answerer.answer(asked)
                left(system, of: subscriber)
                return finish(answer)
            }
        case .joined(let first):
            return .later { [asked, self] in
                let hasEnded = await Self.hasEnded(first, within: configuration.loopTime)
                // The answer to the first question is in the cache now.
                let answer = hasEnded ? await answerer.answer(asked) : Self.loop
                left(nil, of: subscriber)
                return finish(answer)
            }
        }
    }

    // MARK: Waiting

    private enum Admission {
        case first
        /// Another question already asks this machine's resolver for the same name. The stream ends when that question
        /// is answered.
        case joined(AsyncStream<Void>)
        case refused(ServerAnswer)
        /// The client has sent its question again.
        case copy
    }

    private static let loop = ServerAnswer(.refused, source: "loop", errors: [.prohibited])

    /// Counts a question that waits for upstreams, unless there are too many.
    private func admit(
        _ arrival: Arrival,
        _ system: DNSQuestion?,
        of subscriber: IPAddress?,
        in state: inout State
    ) -> Admission {
        let own = subscriber.flatMap { state.waitingOf[$0] } ?? 0
        guard state.waiting < configuration.maxWaiting, own < configuration.waitingPerClient else {
            state.counters.busy += 1
            return .refused(ServerAnswer(.serverFailure, source: "busy"))
        }
        var admission = Admission.first
        if let system {
            let id = Array(arrival.query.octets.prefix(2))
            if let lookup = state.askingSystem[system] {
                // The reply to the first is on its way. A refusal of the copy would arrive before it.
                if arrival.transport == .udp, lookup.client == arrival.client, lookup.id == id { return .copy }
                guard lookup.joined.count < Self.maxJoined else { return .refused(Self.loop) }
                let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                state.askingSystem[system]?.joined.append(continuation)
                admission = .joined(stream)
            } else {
                state.askingSystem[system] = SystemLookup(client: arrival.client, id: id)
            }
        }
        if let subscriber { state.waitingOf[subscriber] = own + 1 }
        state.waiting += 1
        return admission
    }

    /// Records that a question was answered.
    private func left(_ system: DNSQuestion?, of subscriber: IPAddress?) {
        let joined = state.withLockedValue { state in
            if let subscriber, let own = state.waitingOf[subscriber] {
                state.waitingOf[subscriber] = own > 1 ? own - 1 : nil
            }
            return system.flatMap { state.askingSystem.removeValue(forKey: $0)?.joined } ?? []
        }
        for continuation in joined { continuation.finish() }
    }

    /// Waits until a stream ends. Returns false if that takes too long.
    private static func hasEnded(_ stream: AsyncStream<Void>, within limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in stream {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await ContinuousClock().sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    private func reply(to arrival: Arrival, with answer: ServerAnswer) -> [UInt8] {
        let query = arrival.query
        let question = query.hasQuestion ? query.question : nil
        var answer = answer
        var body = ReplyBody(answer, question: question)
        if body == nil {
            answer = ServerAnswer(.serverFailure)
            body = ReplyBody(answer, question: question)
        }
        guard let body else { return ReplyBody.header(query.octets, .serverFailure) }
        let now = NIODeadline.now()
        let time = Duration.nanoseconds((now - arrival.time).nanoseconds)
        state.withLockedValue { state in
            state.counters.add(arrival.transport, answer.code, time: time)
            // After a change, the answer may be of an upstream that is not in use any more.
            if let key = arrival.key, answer.ttl >= Self.memoTTL, arrival.generation == state.generation {
                state.replies.store(Memo(body: body, outcome: answer.code, expiresAt: now + Self.memoTime), for: key)
            }
        }
        let octets = body.reply(to: query, arrival.form)
        if let log = configuration.accessLog {
            log(
                AccessRecord(
                    client: arrival.client,
                    form: arrival.transport.form,
                    account: nil,
                    names: AccessRecord.bounded(question?.name.description ?? ""),
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
        let largest = max(512, min(configuration.maxDatagram, 65_535))
        return ReplyBody.Form(
            maxSize: transport == .udp ? min(query.options.maxPayload, largest) : DNSMessage.maxOctets,
            payload: UInt16(largest),
            paddingBlock: transport == .tls ? MessageDialect.paddingBlock : nil,
            usesSubnets: configuration.passesSubnets
        )
    }

    /// Counts a reply over UDP that the socket could not take.
    func dropped() { state.withLockedValue { $0.counters.dropped += 1 } }

    /// Records that the reply of a ``Handling/later(_:)`` was sent.
    func ended() { state.withLockedValue { $0.waiting -= 1 } }

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
    func report(_ surroundings: DNSCounters.Surroundings) -> String {
        let (counters, waiting, open) = state.withLockedValue { ($0.counters, $0.waiting, $0.connectionCount) }
        return counters.text(surroundings, waiting: waiting, connectionsOpen: open)
    }

    // MARK: Limits

    private enum Permission { case allowed, limited, refused }

    private static func permission(
        _ client: IPAddress,
        _ transport: Transport,
        now: NIODeadline,
        in state: inout State
    ) -> Permission {
        guard state.limiter != nil, !client.isLoopback else { return .allowed }
        let isAllowed = state.limiter?.allows(client, now: Int64(clamping: now.uptimeNanoseconds)) ?? true
        if isAllowed { return .allowed }
        state.counters.limited += 1
        state.answersLimited.toggle()
        return transport == .udp && state.answersLimited ? .limited : .refused
    }

    /// Counts a connection. Returns false if the server or this client has too many.
    ///
    /// - Parameter client: Nil for a proxy that will report its client; see ``identified(_:)``.
    func opened(_ client: IPAddress?, limit: Int) -> Bool {
        state.withLockedValue { state in
            let own = client.map { state.connections[$0] ?? 0 } ?? 0
            guard state.connectionCount < limit, own < configuration.connectionsPerClient,
                !state.isDraining
            else {
                state.counters.connectionsRefused += 1
                return false
            }
            if let client { state.connections[client] = own + 1 }
            state.connectionCount += 1
            state.counters.connections += 1
            return true
        }
    }

    /// Counts the client of a connection that a proxy opened. Returns false if it has too many connections.
    func identified(_ client: IPAddress) -> Bool {
        state.withLockedValue { state in
            let own = state.connections[client] ?? 0
            guard own < configuration.connectionsPerClient else {
                state.counters.connectionsRefused += 1
                return false
            }
            state.connections[client] = own + 1
            return true
        }
    }

    /// - Parameter client: The client that ``opened(_:limit:)`` or ``identified(_:)`` counted.
    func closed(_ client: IPAddress?) {
        state.withLockedValue { state in
            state.connectionCount -= 1
            guard let client, let own = state.connections[client] else { return }
            state.connections[client] = own > 1 ? own - 1 : nil
        }
    }

    /// The number of answers that wait for upstreams.
    var waiting: Int { state.withLockedValue { $0.waiting } }
    var isDraining: Bool { state.withLockedValue { $0.isDraining } }
    func drain() { state.withLockedValue { $0.isDraining = true } }
    var counters: DNSCounters { state.withLockedValue { $0.counters } }
}

/// Determines which networks of clients are sent to upstreams.
struct SubnetPolicy: Sendable {
    /// The longest prefixes, for IPv4 and IPv6 (RFC 7871 §11.1).
    var prefixes: (v4: Int, v6: Int)

    static let standard = SubnetPolicy(prefixes: (24, 56))

    /// The network cut to the longest allowed prefix. Nil for a prefix of length 0.
    func allowed(_ subnet: IPNetwork) -> IPNetwork? {
        guard subnet.prefixLength > 0 else { return nil }
        let limit = subnet.first.family == .v4 ? prefixes.v4 : prefixes.v6
        return IPNetwork(subnet.first, prefixLength: min(subnet.prefixLength, limit))
    }
}
