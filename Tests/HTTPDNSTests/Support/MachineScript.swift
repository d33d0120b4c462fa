// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

@testable import HTTPDNS

/// Plays events to a ``LookupMachine`` at given times, and keeps its actions as text. No upstream is ever asked.
struct MachineScript {
    /// An event, with the names of upstreams and hosts as text.
    enum Step {
        case ask(CallerID, String, fresh: Bool = false)
        case cancel(CallerID)
        /// A name is looked up with ``CachedAnswers/find(_:port:now:ranking:countsMisses:)`` and refreshed as needed.
        case use(String)
        case answer(String, Answer)
        case fail(String, UpstreamError.Code = .unreachable)
        /// An upstream's answer that arrives although its question was cancelled.
        case lateAnswer(String, Answer)
        case time
        /// A caller waits for an origin, by its URL.
        case askOrigin(CallerID, String = MachineScript.url, usesECH: Bool = true)
        /// The cached endpoints of an origin are used, or what they lack is asked for.
        case useOrigin(String = MachineScript.url, usesECH: Bool = true)
        /// An upstream's HTTPS records, in text form; the TTL of the answer in seconds.
        case services(String, [String], ttl: Int?)
        case failServices(String)
        /// No endpoint that the records of an origin lead to could be reached.
        case failRecords(String = MachineScript.url)
        /// Whether an `http` origin is changed to `https` by a cached record.
        case offers(String)
        case attempt(AttemptOutcome, String, String)
        case network(String, families: Families = .both)
        case switched(on: Bool)
        /// The remote switch denies a name to the services.
        case denied(String)
        case close
    }

    private(set) var machine: LookupMachine
    /// What the caller that was resumed last got.
    private(set) var lastResolution: Resolution?
    private let families: Families
    /// The questions under way, and those that were cancelled, in the order in which they were asked.
    private var open: [UpstreamQuestion] = []
    private var cancelled: [UpstreamQuestion] = []
    private var serviceQuestions: [PendingServiceQuestion] = []

    /// - Parameter carriers: The upstreams that carry HTTPS records; none by default.
    init(
        _ upstreams: [String],
        families: Families = .v4,
        carriers: Set<String> = [],
        _ change: (inout ResolverConfiguration) -> Void = { _ in }
    ) {
        let scripts = upstreams.map { name -> any Upstream in
            let script = ScriptedUpstream(name, oneFamily: families == .both) { _ in .silence }
            return carriers.contains(name) ? CarryingUpstream(name: name, answersOneFamily: families == .both) : script
        }
        let system = ScriptedUpstream("system", kind: .system) { _ in .silence }
        var configuration = ResolverConfiguration(upstreams: scripts, system: system)
        configuration.families = families
        change(&configuration)
        self.families = families
        machine = LookupMachine(configuration, random: { 0.5 })
    }

    /// Plays one event, and returns the machine's actions.
    mutating func play(_ step: Step, at milliseconds: Int) -> [String] {
        let now = Moment(nanoseconds: Int64(milliseconds) * 1_000_000)
        var used: [String] = []
        guard let event = event(of: step, now: now, used: &used) else { return used }
        return used + machine.handle(event, now: now).map { text(of: $0) }
    }

    private mutating func event(of step: Step, now: Moment, used: inout [String]) -> LookupMachine.Event? {
        switch step {
        case .ask(let caller, let name, let isFresh): return .asked(request(name), by: caller, isFresh: isFresh)
        case .cancel(let caller): return .cancelled(caller)
        case .use(let name):
            let (found, words) = find(name, now: now)
            used.append(words)
            return found
        case .answer(let upstream, let answer): return answered(upstream, with: .success(answer), of: &open)
        case .fail(let upstream, let code):
            return answered(upstream, with: .failure(UpstreamError(code, "no")), of: &open)
        case .lateAnswer(let upstream, let answer): return answered(upstream, with: .success(answer), of: &cancelled)
        case .time: return .timePassed
        case .failRecords(let url): return origin(url).map { .servicesFailed($0) }
        case .offers(let url):
            guard let request = origin(url) else { return nil }
            used.append(machine.offersHTTPS(request, now: now) ? "https" : "http")
            return nil
        case .askOrigin(let caller, let url, let usesECH):
            guard let request = origin(url, usesECH: usesECH) else { return nil }
            return .askedOrigin(request, by: caller, isFresh: false, delay: .milliseconds(50))
        case .useOrigin(let url, let usesECH):
            guard let request = origin(url, usesECH: usesECH) else { return nil }
            guard case .current(let found, _) = find(request.addresses, port: request.port, now: now) else {
                used.append("unknown")
                return nil
            }
            let (completed, isDue) = machine.completed(found, for: request, now: now)
            used.append(completed.map { "\($0.source) \(words($0.endpoints))" } ?? "incomplete")
            return isDue ? .servicesMissed(request) : nil
        case .services(let upstream, let texts, let ttl):
            guard let question = takeServiceQuestion(upstream) else { return nil }
            let records = texts.compactMap { HTTPSRecord(text: $0) }
            #expect(records.count == texts.count)
            let reply = ServiceReply(records, owner: question.question.name, ttl: ttl.map { .seconds($0) })
            return .servicesAnswered(question.id, .success(reply))
        case .failServices(let upstream):
            return takeServiceQuestion(upstream).map {
                .servicesAnswered($0.id, .failure(UpstreamError(.lookupFailed, "no")))
            }
        case .attempt(let outcome, let address, let name):
            let endpoint = IPAddress(address).map { Endpoint($0, port: 443) }
            return endpoint.map { .attemptEnded(outcome, at: $0, of: host(name)) }
        case .network(let id, let families): return .networkChanged(Network(id: id, families: families))
        case .switched(let isOn): return .switched(on: isOn)
        case .denied(let name):
            let text = #"{"enabled":true,"expires":9,"denied":["\#(name)"]}"#
            return (try? RemoteDocument(Array(text.utf8), signedBy: nil)).map { .documentReceived($0, wall: 0) }
        case .close: return .closed
        }
    }

    private func origin(_ url: String, usesECH: Bool = true) -> OriginRequest? {
        (try? HTTPURL(url)).flatMap { OriginRequest($0.origin, families: families, usesECH: usesECH) }
    }

    private mutating func takeServiceQuestion(_ upstream: String) -> PendingServiceQuestion? {
        let index = serviceQuestions.firstIndex { machine.upstreams[$0.id.upstream].name == upstream }
        guard let index else {
            Issue.record("\(upstream) was not asked for records")
            return nil
        }
        return serviceQuestions.remove(at: index)
    }

    private func words(_ endpoints: [Endpoint]) -> String {
        endpoints.isEmpty ? "-" : endpoints.map(\.description).joined(separator: " ")
    }

    private func request(_ name: String) -> LookupRequest { LookupRequest(host: host(name), families: families) }

    private mutating func find(_ request: LookupRequest, port: UInt16, now: Moment) -> CachedAnswers.Found {
        machine.answers.find(request, port: port, now: now, ranking: machine.ranking, countsMisses: true)
    }

    private mutating func find(_ name: String, now: Moment) -> (event: LookupMachine.Event?, words: String) {
        switch find(request(name), port: 443, now: now) {
        case .current(let resolution, let isDue):
            return (isDue ? .refreshDue(request(name)) : nil, "\(resolution.source) \(list(resolution.addresses))")
        case .stale(let resolution, let mayAsk):
            return (mayAsk ? .missed(request(name)) : nil, "stale \(list(resolution.addresses))")
        case .absent(let error): return (nil, "\(error.code)")
        case .unknown: return (.missed(request(name)), "unknown")
        }
    }

    private func answered(
        _ upstream: String,
        with result: Result<Answer, UpstreamError>,
        of questions: inout [UpstreamQuestion]
    ) -> LookupMachine.Event? {
        let families = (try? result.get().families) ?? []
        let index = questions.firstIndex { question in
            machine.upstreams[question.id.upstream].name == upstream
                && (families.isEmpty || !question.id.families.isDisjoint(with: families))
        }
        guard let index else {
            Issue.record("\(upstream) was not asked")
            return nil
        }
        return .answered(questions.remove(at: index), result, after: .milliseconds(10))
    }

    private mutating func text(of action: LookupMachine.Action) -> String {
        switch action {
        case .ask(let question):
            open.append(question)
            return "ask \(words(question.id)) \(question.question.host)"
        case .stopAsking(let id):
            cancelled += open.filter { $0.id == id }
            open.removeAll { $0.id == id }
            return "stop \(words(id))"
        case .askServices(let question):
            serviceQuestions.append(question)
            return "ask \(machine.upstreams[question.id.upstream].name) HTTPS \(question.question.name)"
        case .stopAskingServices(let id):
            serviceQuestions.removeAll { $0.id == id }
            return "stop \(machine.upstreams[id.upstream].name) HTTPS"
        case .resume(let callers, let result):
            let numbers = callers.map { "\($0)" }.joined(separator: ",")
            switch result {
            case .success(let found):
                let request = LookupRequest(host: host("x.example"), families: families)
                lastResolution = try? machine.resolution(of: found, for: request, port: 443)
                let ordered = machine.ranking.order(found.entry.addresses(of: families), port: 443, now: found.time)
                let plan = found.plan.map { " to \(words($0.endpoints))" } ?? ""
                return "resume \(numbers): \(found.source) \(list(ordered.addresses))\(plan)"
            case .failure(let error): return "resume \(numbers): \(error.code)"
            }
        case .wake(let moment): return "wake \(moment.nanoseconds / 1_000_000)"
        case .announce(let network): return "announce \(network)"
        }
    }

    private func words(_ id: UpstreamQuestion.ID) -> String {
        "\(machine.upstreams[id.upstream].name)\(families == .both ? " \(id.families)" : "")"
    }

    private func list(_ addresses: [IPAddress]) -> String {
        addresses.isEmpty ? "-" : addresses.map(\.description).joined(separator: " ")
    }
}

/// An upstream that carries HTTPS records and is never asked.
private struct CarryingUpstream: RecordUpstream {
    let name: String
    let answersOneFamily: Bool

    func answer(_ question: Question) async throws(UpstreamError) -> Answer { throw UpstreamError(.unsupported, "no") }

    func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        throw UpstreamError(.unsupported, "no")
    }
}
