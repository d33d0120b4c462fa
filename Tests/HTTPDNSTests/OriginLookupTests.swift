// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Origins: addresses together with HTTPS records")
struct OriginLookupTests {
    typealias Row = (at: Int, step: MachineScript.Step, actions: [String])

    static let one = v4("192.0.2.1")
    static let two = v4("192.0.2.2")

    private static func play(_ script: MachineScript, _ rows: [Row]) {
        var script = script
        for row in rows {
            #expect(script.play(row.step, at: row.at) == row.actions, "\(row.at) \(row.step)")
        }
    }

    /// One upstream that carries records.
    private static func script(_ change: (inout ResolverConfiguration) -> Void = { _ in }) -> MachineScript {
        MachineScript(["a"], carriers: ["a"], change)
    }

    @Test("records are asked for together with the addresses, and say port and order")
    func together() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (10, .services("a", ["2 . alpn=h2", "1 . alpn=h2 port=8443"], ttl: 60), []),
                (12, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]),
                (20, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:8443 192.0.2.1:443"]),
                (20, .useOrigin("http://w.test.example/"), ["cached 192.0.2.1:80"]),
                // The records of a name with a port are others.
                (21, .useOrigin("https://w.test.example:444/"), ["incomplete"]),
                (
                    22, .askOrigin(2, "https://w.test.example:444/"),
                    ["ask a HTTPS _444._https.w.test.example", "wake 72"]
                ),
                (30, .services("a", [], ttl: 30), ["resume 2: cached 192.0.2.1"]),
                (31, .useOrigin("https://w.test.example:444/"), ["cached 192.0.2.1:444"]),
            ]
        )
    }

    @Test("records are waited for 50 ms after the first address, and then cached for the next caller")
    func bound() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (10, .answer("a", Self.one), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
                (90, .services("a", ["1 . port=8443"], ttl: 60), []),
                (91, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:8443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a failed question for records fails nothing, and is not repeated for 30 s")
    func failure() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (5, .failServices("a"), []),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
                (2_000, .time, []),
                (20_000, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:443"]),
                // There were none: the next caller is not held up by asking again.
                (
                    31_000, .useOrigin("https://w.test.example/"),
                    ["cached 192.0.2.1:443", "ask a HTTPS w.test.example", "wake 33000"]
                ),
                (33_000, .time, ["stop a HTTPS"]),
            ]
        )
    }

    @Test("silence on the question for records costs the resolution delay once, and not the upstream's health")
    func silence() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (10, .answer("a", Self.one), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
                (2_000, .time, ["stop a HTTPS"]),
                (2_001, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("hints are used when the addresses have not come")
    func hints() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (10, .services("a", ["1 . ipv4hint=192.0.2.9"], ttl: 60), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.9 to 192.0.2.9:443", "wake 2000"]),
                (70, .answer("a", Self.one), []),
                (71, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("an alias is followed, its target's addresses come first, and the origin's own are the fallback")
    func alias() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (5, .services("a", ["0 pool.cdn.example."], ttl: 60), ["ask a HTTPS pool.cdn.example"]),
                (8, .answer("a", Self.one), ["wake 58"]),
                (10, .services("a", [], ttl: 60), ["ask a pool.cdn.example"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.1 to 192.0.2.2:443 192.0.2.1:443"]),
                (30, .useOrigin("https://w.test.example/"), ["cached 192.0.2.2:443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a name that has only an alias by records gets the addresses of its target")
    func apex() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://test.example/"),
                    ["wake 2000", "ask a test.example", "ask a HTTPS test.example"]
                ),
                (5, .answer("a", Answer(v4: .absent(.noRecord, ttl: .seconds(60)))), []),
                (10, .services("a", ["0 pool.cdn.example."], ttl: 60), ["ask a HTTPS pool.cdn.example"]),
                (15, .services("a", [], ttl: 60), ["ask a pool.cdn.example"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.2 to 192.0.2.2:443"]),
            ]
        )
    }

    @Test("a name that does not exist fails at once")
    func noName() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://test.example/"),
                    ["wake 2000", "ask a test.example", "ask a HTTPS test.example"]
                ),
                (5, .answer("a", Answer(v4: .absent(.noName, ttl: .seconds(60)))), ["resume 1: fresh -"]),
            ]
        )
    }

    @Test("a target of the local network is refused")
    func localTarget() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (5, .services("a", ["1 router.lan. port=80"], ttl: 60), []),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
            ]
        )
    }

    @Test("an upstream that carries addresses only is not asked, nor another one after it")
    func vendor() {
        Self.play(
            MachineScript(["a", "b"], carriers: ["b"]),
            [
                (0, .askOrigin(1, "https://w.test.example/"), ["wake 2000", "ask a w.test.example"]),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
                (20, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("callers share the question for records, and a cancelled caller leaves")
    func sharing() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (1, .askOrigin(2, "https://w.test.example/"), []),
                (2, .cancel(1), ["resume 1: cancelled"]),
                (5, .services("a", ["1 . port=8443"], ttl: 60), []),
                (10, .answer("a", Self.one), ["resume 2: fresh 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("the questions end with their only caller, but those for records go on for the cache")
    func cancelled() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (2, .cancel(1), ["stop a", "resume 1: cancelled"]),
                (5, .services("a", ["1 . port=8443"], ttl: 60), []),
            ]
        )
    }

    @Test("when the resolver is shut down, callers of origins get an error")
    func shutDown() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (5, .close, ["stop a HTTPS", "stop a", "resume 1: shutDown"]),
            ]
        )
    }
}

@Suite("ServiceSchedule: chains of aliases")
struct ServiceScheduleTests {
    private static func name(_ text: String) throws -> DNSName { try #require(DNSName(text)) }

    /// Answers each question by `zone`, and returns the outcome and the number of questions.
    private static func run(_ zone: [String: [String]]) throws -> (outcome: ServiceSchedule.Outcome, questions: Int) {
        let host = try Host("n0.example")
        var schedule = ServiceSchedule(
            origin: host,
            name: try name(host.text),
            candidates: [0],
            budget: .seconds(2),
            limit: .seconds(5),
            now: .past
        )
        var actions = schedule.start(now: .past)
        var questions = 0
        while let action = actions.first {
            switch action {
            case .ask(let upstream, let asked):
                questions += 1
                let records = (zone["\(asked)"] ?? []).compactMap { ServiceRecord(text: $0) }
                let reply = ServiceReply(records, owner: asked, ttl: .seconds(60 - questions))
                actions = schedule.event(.answered(upstream: upstream, reply), chance: 0, now: .past)
            case .cancel: actions.removeFirst()
            case .end(let outcome): return (outcome, questions)
            }
        }
        Issue.record("the schedule stopped")
        return (ServiceSchedule.Outcome(), questions)
    }

    @Test("eight aliases are followed, with the lowest TTL; nine are not")
    func bound() throws {
        for (count, isFollowed) in [(1, true), (8, true), (9, false)] {
            var zone: [String: [String]] = [:]
            for index in 0..<count { zone["n\(index).example"] = ["0 n\(index + 1).example."] }
            zone["n\(count).example"] = ["1 . port=8443"]
            let (outcome, questions) = try Self.run(zone)
            #expect(outcome.routes.isEmpty != isFollowed, "\(count)")
            #expect(outcome.routes.first?.port == (isFollowed ? 8_443 : nil))
            #expect(questions == min(count, 8) + 1)
            #expect(outcome.ttl == .seconds(60 - questions))
        }
    }

    @Test("a loop of aliases counts as no records")
    func loop() throws {
        let zone = ["n0.example": ["0 n1.example."], "n1.example": ["0 n0.example."]]
        #expect(try Self.run(zone).outcome.routes.isEmpty)
        #expect(try Self.run(["n0.example": ["0 n0.example."]]).outcome.routes.isEmpty)
    }

    @Test("an alias overrules the other records of its name, and the end without records is a host")
    func mixed() throws {
        let (outcome, _) = try Self.run(["n0.example": ["1 . port=1", "0 n1.example."]])
        #expect(outcome.routes == [ServiceRoute(to: try Host("n1.example"))] && outcome.records.count == 2)
    }

    @Test("the target . says that there is no service, which the addresses decide")
    func none() throws {
        #expect(try Self.run(["n0.example": ["0 ."]]).outcome.routes.isEmpty)
    }
}

@Suite("ServicePlan: the order of endpoints")
struct ServicePlanTests {
    private static func plan(
        _ texts: [String],
        own: ServicePlan.Addresses,
        random: [Double] = [0.1, 0.2, 0.3]
    ) -> [String]? {
        var random = random[...]
        let routes = texts.compactMap { ServiceRecord(text: $0) }.compactMap { record in
            ServiceRoute(record, target: record.target == "." ? nil : try? Host(record.target))
        }
        let plan = ServicePlan(
            routes,
            own: own,
            targets: [:],
            families: .both,
            port: 443,
            ranking: EndpointRanking(limits: EndpointRanking.Limits()),
            random: { random.popFirst() ?? 0 },
            now: .past
        )
        return plan?.endpoints.map(\.description)
    }

    private static let own = ServicePlan.Addresses(v4: addresses("192.0.2.1"), v6: addresses("2001:db8::1"))

    @Test("priority comes first, then families alternate, and the origin's own port is the last resort")
    func order() {
        #expect(
            Self.plan(["2 . port=2", "1 . port=1"].reversed(), own: Self.own) == [
                "[2001:db8::1]:1", "192.0.2.1:1", "[2001:db8::1]:2", "192.0.2.1:2", "[2001:db8::1]:443",
                "192.0.2.1:443",
            ]
        )
    }

    @Test("equal priorities are in random order")
    func shuffled() {
        let own = ServicePlan.Addresses(v4: addresses("192.0.2.1"))
        let texts = ["1 . port=1", "1 . port=2"]
        #expect(Self.plan(texts, own: own, random: [0.1, 0.9])?.first == "192.0.2.1:1")
        #expect(Self.plan(texts, own: own, random: [0.9, 0.1])?.first == "192.0.2.1:2")
    }

    @Test("there is no way around ECH if all records have it")
    func ech() {
        let own = ServicePlan.Addresses(v4: addresses("192.0.2.1"))
        #expect(Self.plan(["1 . port=1 ech=AAAA"], own: own) == ["192.0.2.1:1"])
        #expect(Self.plan(["1 . port=1 ech=AAAA", "2 ."], own: own) == ["192.0.2.1:1", "192.0.2.1:443"])
    }

    @Test("hints stand for addresses that have not come, and without any there is no plan")
    func hints() {
        let text = "1 svc.example. ipv4hint=192.0.2.7 ipv6hint=2001:db8::7"
        #expect(Self.plan([text], own: ServicePlan.Addresses()) == ["[2001:db8::7]:443", "192.0.2.7:443"])
        #expect(Self.plan(["1 svc.example."], own: Self.own) == nil)
    }
}
