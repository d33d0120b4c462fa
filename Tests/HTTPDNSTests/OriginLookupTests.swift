// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Names
import Testing

@testable import HTTPDNS

@Suite("Origins: addresses together with HTTPS records")
struct OriginLookupTests {
    typealias Row = (at: Int, step: MachineScript.Step, actions: [String])

    static let one = v4("192.0.2.1")
    static let two = v4("192.0.2.2")

    @discardableResult
    private static func play(_ script: MachineScript, _ rows: [Row]) -> MachineScript {
        var script = script
        for row in rows {
            #expect(script.play(row.step, at: row.at) == row.actions, "\(row.at) \(row.step)")
        }
        return script
    }

    /// The rows of a caller whose origin gets this record, and the address ``one``.
    private static func known(_ record: String, ttl: Int, as result: String) -> [Row] {
        [
            (
                0, .askOrigin(1, "https://w.test.example/"),
                ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
            ),
            (5, .services("a", [record], ttl: ttl), []),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1 to \(result)"]),
            (2_000, .time, []),
        ]
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

    @Test("a failed question for records does not fail the lookup, and is not repeated for 30 s")
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
                (5, .answer("a", Answer(v4: .absent(.noRecord, ttl: .seconds(60)))), ["wake 505"]),
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

    @Test("records of port 443 do not change http at another port to https, when that port's own records are late")
    func otherPort() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        let script = Self.play(
            Self.script(),
            Self.known("1 . port=8443", ttl: 60, as: result) + [
                (
                    2_100, .askOrigin(2, "http://w.test.example:8080/"),
                    ["ask a HTTPS _8080._https.w.test.example", "wake 4100", "wake 2150"]
                ),
                (2_150, .time, ["resume 2: cached 192.0.2.1", "wake 4100"]),
                (2_151, .offers("http://w.test.example:8080/"), ["http"]),
                (2_152, .offers("http://w.test.example/"), ["https"]),
            ]
        )
        #expect(script.lastResolution?.offersHTTPS == false)
    }

    @Test("a name of a table is not asked for at a service, and http stays http")
    func table() {
        let script = Self.script {
            var table = HostsTable()
            table.add(IPAddress(v4: 0xc000_0201), for: host("w.test.example"))
            $0.upstreams.insert(FixedUpstream(table, name: "table"), at: 0)
        }
        Self.play(
            script,
            [
                (0, .askOrigin(1, "http://w.test.example/"), ["wake 2000", "ask table w.test.example"]),
                (1, .answer("table", Self.one), ["resume 1: fixed 192.0.2.1"]),
                (2, .offers("http://w.test.example/"), ["http"]),
                // A name that the table does not have.
                (
                    3, .askOrigin(2, "http://v.test.example/"),
                    ["ask table v.test.example", "ask a HTTPS v.test.example"]
                ),
            ]
        )
    }

    @Test("a name is not asked for at a service before a table in a file has been read")
    func tableInFile() {
        let script = Self.script {
            $0.upstreams.insert(ScriptedUpstream("file", kind: .fixed) { _ in .silence }, at: 0)
        }
        Self.play(
            script,
            [
                (0, .askOrigin(1, "https://w.test.example/"), ["wake 2000", "ask file w.test.example"]),
                (1, .answer("file", Self.one), ["resume 1: fixed 192.0.2.1"]),
                (2, .askOrigin(2, "https://v.test.example/"), ["ask file v.test.example"]),
                (3, .fail("file", .unsupported), ["ask a v.test.example"]),
                (10, .answer("a", Self.two), ["ask a HTTPS v.test.example", "wake 60"]),
                (
                    20, .services("a", ["1 . port=8443"], ttl: 60),
                    ["resume 2: fresh 192.0.2.2 to 192.0.2.2:8443 192.0.2.2:443"]
                ),
                (21, .offers("http://v.test.example/"), ["https"]),
                (22, .switched(on: false), []),
                (23, .offers("http://v.test.example/"), ["http"]),
            ]
        )
    }

    @Test("late addresses of a target with ECH are waited for, and the origin's own are not used in their place")
    func lateTarget() throws {
        let ech = Base64.encode(try ServerECH(publicName: "b.test").configurations)
        let start: [Row] = [
            (
                0, .askOrigin(1, "https://w.test.example/"),
                ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
            ),
            (5, .services("a", ["1 svc.cdn.example. ech=\(ech)"], ttl: 60), ["ask a svc.cdn.example"]),
            (10, .answer("a", Self.one), []),
        ]
        let result = "fresh 192.0.2.1 to 192.0.2.2:443"
        Self.play(
            Self.script(),
            start + [
                (300, .answer("a", Self.two), ["resume 1: \(result)"]),
                (301, .useOrigin("https://w.test.example/"), ["cached 192.0.2.2:443"]),
            ]
        )
        Self.play(Self.script(), start + [(300, .fail("a"), ["resume 1: noAddress"])])
    }

    @Test("after all endpoints of records failed, records and targets are asked for again, at most every 5 s")
    func failedRecords() {
        let url = "https://w.test.example/"
        Self.play(
            Self.script(),
            [
                (0, .askOrigin(1, url), ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]),
                (5, .services("a", ["1 svc.cdn.example. port=8443"], ttl: 60), ["ask a svc.cdn.example"]),
                (10, .answer("a", Self.one), ["wake 60"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.1 to 192.0.2.2:8443 192.0.2.1:443"]),
                (60, .time, []),
                (1_000, .failRecords(url), []),
                (1_001, .useOrigin(url), ["incomplete"]),
                (1_002, .askOrigin(2, url), ["ask a HTTPS w.test.example", "wake 3002", "wake 1052"]),
                (1_010, .services("a", ["1 svc.cdn.example. port=9443"], ttl: 60), ["ask a svc.cdn.example"]),
                (1_020, .answer("a", Self.two), ["resume 2: cached 192.0.2.1 to 192.0.2.2:9443 192.0.2.1:443"]),
                (1_030, .failRecords(url), []),
                (1_031, .useOrigin(url), ["cached 192.0.2.2:9443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a failed question keeps the records that were known")
    func failureKeeps() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        Self.play(
            Self.script(),
            Self.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .askOrigin(2, "https://w.test.example/"),
                    ["ask a HTTPS w.test.example", "wake 4100", "wake 2150"]
                ),
                (2_110, .failServices("a"), ["resume 2: cached 192.0.2.1 to \(result)"]),
                (3_000, .useOrigin("https://w.test.example/"), ["cached \(result)"]),
            ]
        )
    }

    @Test("expired records are used when new ones do not come in time, so that ECH does not end with the TTL")
    func lateAgain() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        Self.play(
            Self.script(),
            Self.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .askOrigin(2, "https://w.test.example/"),
                    ["ask a HTTPS w.test.example", "wake 4100", "wake 2150"]
                ),
                (2_150, .time, ["wake 2150", "resume 2: cached 192.0.2.1 to \(result)"]),
                (2_150, .time, ["wake 4100"]),
            ]
        )
    }

    @Test("records of a name in frequent use are refreshed with its addresses")
    func refreshed() {
        let used = "cached 192.0.2.1"
        Self.play(
            Self.script(),
            Self.known("1 . port=8443", ttl: 60, as: "192.0.2.1:8443 192.0.2.1:443") + [
                (59_000, .use("w.test.example"), [used]),
                (59_001, .use("w.test.example"), [used]),
                (
                    59_002, .use("w.test.example"),
                    [used, "ask a w.test.example", "wake 61002", "ask a HTTPS w.test.example"]
                ),
            ]
        )
    }

    @Test("expired records are used for staleWhileRefresh, while new ones are asked for")
    func staleWhileRefresh() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        Self.play(
            Self.script { $0.cache.staleWhileRefresh = .seconds(10) },
            Self.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .useOrigin("https://w.test.example/"),
                    ["cached \(result)", "ask a HTTPS w.test.example", "wake 4100"]
                )
            ]
        )
    }

    @Test("an upstream that drops three questions for records is not asked for 120 s")
    func dropped() {
        var script = Self.script()
        func ask(_ number: Int, at time: Int) -> Bool {
            let asked = script.play(.askOrigin(number, "https://n\(number).test.example/"), at: time)
            _ = script.play(.answer("a", Self.one), at: time + 10)
            _ = script.play(.time, at: time + 60)
            _ = script.play(.time, at: time + 2_000)
            return asked.contains("ask a HTTPS n\(number).test.example")
        }
        for number in 1...3 { #expect(ask(number, at: number * 10_000)) }
        #expect(!ask(4, at: 40_000))
        #expect(ask(5, at: 160_000))
    }

    @Test("a name without addresses does not wait for records that do not come until the time limit")
    func noAddress() {
        Self.play(
            Self.script(),
            [
                (
                    0, .askOrigin(1, "https://test.example/"),
                    ["wake 2000", "ask a test.example", "ask a HTTPS test.example"]
                ),
                (5, .answer("a", Answer(v4: .absent(.noRecord, ttl: .seconds(60)))), ["wake 505"]),
                (505, .time, ["resume 1: fresh -", "wake 2000"]),
            ]
        )
    }

    @Test("a target that is in a table is not used")
    func targetOfTable() {
        let script = Self.script {
            var table = HostsTable()
            table.add(IPAddress(v4: 0x0a00_0001), for: host("svc.cdn.example"))
            $0.upstreams.append(FixedUpstream(table, name: "table"))
        }
        Self.play(
            script,
            [
                (
                    0, .askOrigin(1, "https://w.test.example/"),
                    ["wake 2000", "ask a w.test.example", "ask a HTTPS w.test.example"]
                ),
                (1, .answer("a", Self.one), ["wake 51"]),
                (5, .services("a", ["1 svc.cdn.example. port=80"], ttl: 60), ["ask a svc.cdn.example"]),
                (6, .fail("a"), ["ask table svc.cdn.example"]),
                (7, .answer("table", v4("10.0.0.1")), ["resume 1: fresh 192.0.2.1"]),
                (8, .useOrigin("https://w.test.example/"), ["cached 192.0.2.1:443"]),
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

    @Test("the target . means that there is no service, but the addresses decide")
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

    @Test("ECH is required if all records have it, unless the client cannot use it")
    func ech() throws {
        let own = ServicePlan.Addresses(v4: addresses("192.0.2.1"))
        let ech = Base64.encode(try ServerECH(publicName: "b.test").configurations)
        #expect(Self.plan(["1 . port=1 ech=\(ech)"], own: own) == ["192.0.2.1:1"])
        #expect(Self.plan(["1 . port=1 ech=\(ech)", "2 ."], own: own) == ["192.0.2.1:1", "192.0.2.1:443"])
        #expect(Self.plan(["1 . port=1 ech=AA=="], own: own) == ["192.0.2.1:1", "192.0.2.1:443"])
    }

    @Test("hints replace addresses that have not arrived, and without hints there is no plan")
    func hints() {
        let text = "1 svc.example. ipv4hint=192.0.2.7 ipv6hint=2001:db8::7"
        #expect(Self.plan([text], own: ServicePlan.Addresses()) == ["[2001:db8::7]:443", "192.0.2.7:443"])
        #expect(Self.plan(["1 svc.example."], own: Self.own) == nil)
    }
}
