// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

@testable import HTTPDNS

@Suite("Origins: cached, expired and failed HTTPS records")
struct OriginCacheTests {
    private static let one = v4("192.0.2.1")
    private static let two = v4("192.0.2.2")

    @Test("a failed question for records fails nothing, and is repeated after 1 s, then 2 s, up to 30 s")
    func failure() {
        var script = MachineScript.carrying().played([
            MachineScript.asked(), (5, .failServices("a"), []),
            (10, .answer("a", v4("192.0.2.1", ttl: 600)), ["resume 1: fresh 192.0.2.1"]), (2_000, .time, []),
        ])
        var failedAt = 5
        for (caller, pause) in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].enumerated() {
            let next = failedAt + pause
            script = script.played([
                (next - 1, .useOrigin(), ["cached 192.0.2.1:443"]), (next, .useOrigin(), ["incomplete"]),
            ])
            let asked = script.play(.askOrigin(caller + 2), at: next)
            #expect(asked.contains("ask a HTTPS w.test.example"))
            failedAt = next + 10
            script = script.played([(failedAt, .failServices("a"), ["resume \(caller + 2): cached 192.0.2.1"])])
        }
    }

    @Test("after a failed question, the next caller waits for the records and gets them")
    func failureOnce() {
        MachineScript.carrying().played([
            MachineScript.asked(), (5, .failServices("a"), []),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
            (1_005, .useOrigin(), ["incomplete"]),
            (1_005, .askOrigin(2), ["ask a HTTPS w.test.example", "wake 1055"]),
            (
                1_010, .services("a", ["1 . port=8443"], ttl: 60),
                ["resume 2: cached 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]
            ),
        ])
    }

    @Test("a name known to have no records is not held up by asking again")
    func absence() {
        MachineScript.carrying().played([
            MachineScript.asked(), (5, .services("a", [], ttl: 30), []),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]), (2_000, .time, []),
            (
                31_000, .useOrigin(),
                ["cached 192.0.2.1:443", "ask a HTTPS w.test.example", "wake 33000"]
            ),
            (33_000, .time, ["stop a HTTPS"]),
        ])
    }

    @Test("silence on the question for records costs the resolution delay once, and not the upstream's health")
    func silence() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (10, .answer("a", Self.one), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
                (2_000, .time, ["stop a HTTPS"]),
                (2_001, .useOrigin(), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("records of port 443 do not change http at another port to https, when that port's own records are late")
    func otherPort() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        let script = MachineScript.carrying().played(
            MachineScript.known("1 . port=8443", ttl: 60, as: result) + [
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

    @Test("after all endpoints of records failed, records and targets are asked for again, at most every 5 s")
    func failedRecords() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (5, .services("a", ["1 svc.cdn.example. port=8443"], ttl: 60), ["ask a svc.cdn.example"]),
                (10, .answer("a", Self.one), ["wake 60"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.1 to 192.0.2.2:8443 192.0.2.1:443"]),
                (60, .time, []),
                (1_000, .failRecords(), []),
                (1_001, .useOrigin(), ["incomplete"]),
                (1_002, .askOrigin(2), ["ask a HTTPS w.test.example", "wake 3002", "wake 1052"]),
                (1_010, .services("a", ["1 svc.cdn.example. port=9443"], ttl: 60), ["ask a svc.cdn.example"]),
                (1_020, .answer("a", Self.two), ["resume 2: cached 192.0.2.1 to 192.0.2.2:9443 192.0.2.1:443"]),
                (1_030, .failRecords(), []),
                (1_031, .useOrigin(), ["cached 192.0.2.2:9443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a failed question keeps the records that were known")
    func failureKeeps() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        MachineScript.carrying().played(
            MachineScript.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .askOrigin(2),
                    ["ask a HTTPS w.test.example", "wake 4100", "wake 2150"]
                ),
                (2_110, .failServices("a"), ["resume 2: cached 192.0.2.1 to \(result)"]),
                (3_000, .useOrigin(), ["cached \(result)"]),
            ]
        )
    }

    @Test("expired records are used when new ones do not come in time, so that ECH does not end with the TTL")
    func lateAgain() {
        let result = "192.0.2.1:8443 192.0.2.1:443"
        MachineScript.carrying().played(
            MachineScript.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .askOrigin(2),
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
        MachineScript.carrying().played(
            MachineScript.known("1 . port=8443", ttl: 60, as: "192.0.2.1:8443 192.0.2.1:443") + [
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
        MachineScript.carrying { $0.cache.staleWhileRefresh = .seconds(10) }.played(
            MachineScript.known("1 . port=8443", ttl: 1, as: result) + [
                (
                    2_100, .useOrigin(),
                    ["cached \(result)", "ask a HTTPS w.test.example", "wake 4100"]
                )
            ]
        )
    }

    @Test("an upstream that drops three questions for records is not asked for 120 s")
    func dropped() {
        var script = MachineScript.carrying()
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

    @Test(
        "questions for records that a change of network or the machine's sleep left unanswered count as no silence",
        arguments: [true, false]
    )
    func lostQuestions(_ changesNetwork: Bool) {
        var script = MachineScript.carrying()
        for number in 1...3 {
            _ = script.play(.askOrigin(number, "https://n\(number).test.example/"), at: number * 20)
            _ = script.play(.answer("a", Self.one), at: number * 20 + 10)
        }
        if changesNetwork { _ = script.play(.network("second"), at: 1_000) }
        _ = script.play(.time, at: changesNetwork ? 2_100 : 10_000)
        let asked = script.play(.askOrigin(4, "https://n4.test.example/"), at: 11_000)
        #expect(asked.contains("ask a HTTPS n4.test.example"))
    }

    @Test("slow names do not turn off the records of an upstream that has answered a question for them")
    func slowNames() {
        var script = MachineScript.carrying().played([
            MachineScript.asked(), (5, .services("a", [], ttl: 60), []),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]), (2_000, .time, []),
        ])
        for number in 2...12 {
            let (host, time) = ("n\(number).test.example", number * 10_000)
            #expect(script.play(.askOrigin(number, "https://\(host)/"), at: time).contains("ask a HTTPS \(host)"))
            _ = script.play(.answer("a", Self.one), at: time + 10)
            _ = script.play(.time, at: time + 60)
            _ = script.play(.time, at: time + 2_000)
        }
    }
}
