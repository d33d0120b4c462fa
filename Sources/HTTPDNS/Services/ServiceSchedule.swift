// SPDX-License-Identifier: Apache-2.0

import Names

/// The state machine of one lookup of HTTPS records: asks upstreams in order, and follows aliases.
///
/// After an upstream that fails or exceeds its budget, the next is asked. The first answer is used, even if it has no
/// records. For each alias, the lookup starts again with the alias's target.
struct ServiceSchedule {
    /// The maximum number of aliases to follow (RFC 9460 §2.4.2). A longer chain counts as no records.
    static let maxAliases = 8

    /// An input of the state machine.
    enum Event {
        /// An upstream's checked answer.
        case answered(upstream: Int, ServiceReply)
        /// An upstream's failure.
        case failed(upstream: Int)
        /// Time has passed.
        case tick
    }

    /// An output of the state machine.
    enum Action: Equatable {
        case ask(upstream: Int, DNSName)
        /// Cancel the question to an upstream.
        case cancel(upstream: Int)
        case end(Outcome)
    }

    /// The result of the lookup.
    struct Outcome: Equatable {
        /// The records of the first name.
        var records: [HTTPSRecord] = []
        var routes: [ServiceRoute] = []
        /// The upstream of the last answer; nil if none has answered.
        var upstream: Int?
        /// The lowest TTL of the chain; nil if no answer has one.
        var ttl: Duration?
        /// Whether no upstream answered the last question.
        var isFailure = false
    }

    private let candidates: [Int]
    private let budget: Duration
    private let deadline: Moment
    private let origin: Host
    private let firstName: DNSName
    /// Whether the target `.` of the first name is the origin itself. A name with `_PORT._https` does not have the
    /// addresses of its origin.
    private let isOfOrigin: Bool
    private var name: DNSName
    private var followed: [DNSName] = []
    /// Whether all answers of the chain came over authenticated connections.
    private var isAuthenticated = true
    private var next = 0
    private var asked: (upstream: Int, since: Moment)?
    private var outcome = Outcome()
    private var isOver = false

    /// - Parameters:
    ///   - origin: The host of the origin.
    ///   - name: The name to ask for.
    ///   - candidates: The upstreams, in the order to ask them.
    ///   - budget: The time limit for one answer.
    ///   - limit: The time limit for all answers.
    init(origin: Host, name: DNSName, candidates: [Int], budget: Duration, limit: Duration, now: Moment) {
        self.origin = origin
        self.name = name
        self.candidates = candidates
        self.budget = budget
        firstName = name
        isOfOrigin = DNSName(origin.text) == name
        deadline = now + limit
    }

    /// When a ``Event/tick`` is due.
    var nextTick: Moment {
        guard !isOver, let asked else { return .never }
        return min(deadline, asked.since + budget)
    }

    /// Starts the lookup.
    mutating func start(now: Moment) -> [Action] { askNext(now: now) }

    /// Handles an event.
    ///
    /// - Parameter chance: A random number in 0..<1, which selects one of several aliases (RFC 9460 §2.4.2).
    mutating func event(_ event: Event, chance: Double, now: Moment) -> [Action] {
        guard !isOver, let asked else { return [] }
        switch event {
        case .answered(asked.upstream, let reply): return use(reply, chance: chance, now: now)
        case .failed(asked.upstream): return askNext(now: now)
        case .answered, .failed: return []
        case .tick:
            guard nextTick <= now else { return [] }
            let cancel = Action.cancel(upstream: asked.upstream)
            return deadline <= now ? [cancel] + fail() : [cancel] + askNext(now: now)
        }
    }

    private mutating func askNext(now: Moment) -> [Action] {
        guard next < candidates.count else { return fail() }
        asked = (candidates[next], now)
        next += 1
        return [.ask(upstream: candidates[next - 1], name)]
    }

    private mutating func use(_ reply: ServiceReply, chance: Double, now: Moment) -> [Action] {
        isAuthenticated = isAuthenticated && reply.isAuthenticated
        outcome.upstream = asked?.upstream
        if let ttl = reply.ttl { outcome.ttl = min(outcome.ttl ?? ttl, ttl) }
        let records = reply.records.prefix(ServiceAnswer.maxRecords).sorted { $0.priority < $1.priority }
        if followed.isEmpty { outcome.records = records }
        // If there is an alias, all other records are ignored (RFC 9460 §2.4.1).
        let aliases = records.filter(\.isAlias)
        guard let alias = aliases.isEmpty ? nil : aliases[min(Int(chance * Double(aliases.count)), aliases.count - 1)]
        else {
            outcome.routes = routes(of: records, owner: reply.owner)
            return end()
        }
        followed += [name, reply.owner]
        // The target `.` means that there is no service here (§2.5.1). Clients may ignore that. This one does, and the
        // addresses decide.
        guard alias.targetName != .root, !followed.contains(alias.targetName),
            followed.count <= 2 * Self.maxAliases
        else { return end() }
        name = alias.targetName
        // Ask the same upstream again, because it has just answered.
        next -= 1
        return askNext(now: now)
    }

    /// The usable routes of the records at the end of the chain.
    private func routes(of records: [HTTPSRecord], owner: DNSName) -> [ServiceRoute] {
        if records.isEmpty { return aliasRoute }
        return records.compactMap { record in
            var target: Host?
            let name = record.targetName == .root ? owner : record.targetName
            // After a CNAME, the origin's own addresses are those of the owner.
            let isOwn = record.targetName == .root && followed.isEmpty && isOfOrigin
            if !isOwn, name != DNSName(origin.text) {
                guard let host = Self.host(name) else { return nil }
                target = host
            }
            var route = ServiceRoute(record, target: target)
            route?.isAuthenticated = isAuthenticated
            return route
        }
    }

    /// The route to the target of the last alias; none if there was no alias.
    private var aliasRoute: [ServiceRoute] {
        guard !followed.isEmpty, let host = Self.host(name) else { return [] }
        return [ServiceRoute(to: host)]
    }

    private static func host(_ name: DNSName) -> Host? {
        guard let host = try? Host(name.description), host.address == nil, !host.isLocalhost else { return nil }
        return host
    }

    private mutating func fail() -> [Action] {
        outcome.isFailure = true
        // The alias is known, although the records of its target are not.
        outcome.routes = aliasRoute
        return end()
    }

    private mutating func end() -> [Action] {
        isOver = true
        asked = nil
        return [.end(outcome)]
    }
}
