// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("LookupMachine: the actions of each event")
struct LookupMachineTests {
    /// A time in milliseconds, an event, and the actions that follow it.
    typealias Row = (at: Int, step: MachineScript.Step, actions: [String])

    static let one = v4("192.0.2.1")
    static let two = v4("192.0.2.2")
    static let six = Answer(v6: .addresses(addresses("2001:db8::1"), ttl: .seconds(60)))

    private static func play(_ script: MachineScript, _ rows: [Row]) {
        var script = script
        for row in rows {
            #expect(script.play(row.step, at: row.at) == row.actions, "\(row.at) \(row.step)")
        }
    }

    @Test("callers of one name share a lookup, and later callers get the cached answer")
    func sharing() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .ask(1, "www.test.example"), ["wake 2000", "ask a www.test.example"]),
                (5, .ask(2, "www.test.example"), []),
                (6, .ask(3, "other.example"), ["ask a other.example"]),
                (10, .answer("a", Self.one), ["resume 1,2: fresh 192.0.2.1"]),
                (11, .ask(4, "www.test.example"), ["resume 4: cached 192.0.2.1"]),
                (12, .use("www.test.example"), ["cached 192.0.2.1"]),
            ]
        )
    }

    @Test("the lookup of a name that was denied meanwhile asks no further service, and starts again with the system")
    func deniedMeanwhile() {
        Self.play(
            MachineScript(["a", "b"]),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                (1, .ask(2, "n.example"), []),
                (2, .ask(3, "other.example"), ["ask a other.example"]),
                (5, .denied("n.example"), ["stop a", "ask system n.example"]),
                (6, .lateAnswer("a", Self.one), []),
                (7, .ask(4, "n.example"), []),
                (10, .answer("system", Self.two), ["resume 1,2,4: system 192.0.2.2"]),
                (11, .use("n.example"), ["cached 192.0.2.2"]),
                (12, .answer("a", Self.one), ["resume 3: fresh 192.0.2.1"]),
            ]
        )
    }

    @Test("the lookup of a denied name for which no caller waits ends")
    func deniedWithoutCallers() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .use("n.example"), ["unknown", "ask a n.example", "wake 2000"]),
                (5, .denied("n.example"), ["stop a"]),
                (6, .ask(1, "n.example"), ["ask system n.example"]),
            ]
        )
    }

    /// A table with `t.example`, after the upstreams `a` and `b` in the configuration.
    private static func withTable(_ order: UpstreamOrder) -> MachineScript {
        MachineScript(["a", "b"]) {
            $0.upstreams.append(FixedUpstream(HostsTable(parsing: "192.0.2.9 t.example"), name: "table"))
            $0.order = order
        }
    }

    @Test("a race begins after the tables, so that no service learns a name in a table")
    func raceAfterTables() {
        Self.play(
            Self.withTable(.race(2)),
            [
                (0, .ask(1, "t.example"), ["wake 2000", "ask table t.example"]),
                (1, .answer("table", v4("192.0.2.9")), ["resume 1: fixed 192.0.2.9"]),
                (2, .ask(2, "n.example"), ["ask table n.example"]),
                (3, .fail("table", .unsupported), ["ask a n.example", "wake 3"]),
                (3, .time, ["ask b n.example", "wake 2003"]),
                (10, .answer("b", Self.two), ["stop a", "resume 2: fresh 192.0.2.2"]),
            ]
        )
    }

    @Test("in the weighted order, tables come before services, also after they were measured")
    func weightedAfterTables() {
        Self.play(
            Self.withTable(.weighted),
            [
                (0, .ask(1, "t.example"), ["wake 2000", "ask table t.example"]),
                (10, .answer("table", v4("192.0.2.9")), ["resume 1: fixed 192.0.2.9"]),
                (70_000, .ask(2, "t.example"), ["ask table t.example"]),
            ]
        )
    }

    @Test("the next upstream is asked after a failure, and after the time limit of the first")
    func failOver() {
        Self.play(
            MachineScript(["a", "b", "c"]) { $0.limits.total = .seconds(6) },
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                (10, .fail("a"), ["ask b n.example"]),
                (2_000, .time, ["wake 2010"]),
                (2_010, .time, ["stop b", "ask c n.example", "wake 4010"]),
                (2_020, .lateAnswer("b", Self.one), []),
                (2_030, .answer("c", Self.two), ["resume 1: fresh 192.0.2.2"]),
            ]
        )
    }

    @Test("in a network that drops packets, the last of four upstreams is asked before the lookup's limit")
    func turnOfTheLast() {
        let dropped: [Row] = [
            (0, .ask(1, "n.example"), ["wake 1250", "ask a n.example"]),
            (1_250, .time, ["ask b n.example", "wake 2000"]),
            (2_000, .time, ["stop a", "ask c n.example", "wake 3250"]),
            (3_250, .time, ["stop b", "ask d n.example", "wake 4000"]),
            (3_260, .answer("d", Self.two), ["stop c", "resume 1: fresh 192.0.2.2"]),
        ]
        let script = MachineScript(["a", "b", "c", "d"])
        Self.play(script, dropped)
        // The next one is asked in addition: a slow upstream keeps its time.
        let slow: Row = (1_900, .answer("a", Self.one), ["stop b", "resume 1: fresh 192.0.2.1"])
        Self.play(script, Array(dropped.prefix(2)) + [slow])
    }

    @Test("a lookup that exceeds its limit fails, and the failure is remembered for a second")
    func overdue() {
        Self.play(
            MachineScript(["a", "b", "c", "d"]),
            [
                (0, .ask(1, "n.example"), ["wake 1250", "ask a n.example"]),
                (1_250, .time, ["ask b n.example", "wake 2000"]),
                (2_000, .time, ["stop a", "ask c n.example", "wake 3250"]),
                (3_250, .time, ["stop b", "ask d n.example", "wake 4000"]),
                (4_000, .time, ["stop c", "wake 5000"]),
                (5_000, .time, ["stop d", "resume 1: timeLimit"]),
                (5_500, .ask(2, "n.example"), ["resume 2: allUpstreamsFailed"]),
                (6_000, .ask(3, "n.example"), ["wake 7250", "ask a n.example"]),
            ]
        )
    }

    @Test("a cancelled caller leaves its lookup, which ends with its last caller")
    func cancelling() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]), (1, .ask(2, "n.example"), []),
                (2, .ask(3, "n.example"), []), (3, .cancel(1), ["resume 1: cancelled"]), (4, .cancel(1), []),
                (5, .cancel(3), ["resume 3: cancelled"]), (6, .cancel(2), ["stop a", "resume 2: cancelled"]),
                (7, .lateAnswer("a", Self.one), []), (8, .ask(4, "n.example"), ["ask a n.example"]),
            ]
        )
    }

    @Test("a lookup for the cache continues when its caller leaves")
    func background() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .use("n.example"), ["unknown", "ask a n.example", "wake 2000"]),
                (1, .use("n.example"), ["unknown"]), (2, .ask(1, "n.example"), []),
                (3, .cancel(1), ["resume 1: cancelled"]), (4, .answer("a", Self.one), []),
                (5, .use("n.example"), ["cached 192.0.2.1"]),
            ]
        )
    }

    @Test("the family that arrives first is delivered after 50 ms, and the other one completes it")
    func halves() {
        let first: [Row] = [
            (0, .ask(1, "n.example"), ["wake 2000", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
            (10, .answer("a", Self.one), ["wake 60"]),
        ]
        let script = MachineScript(["a"], families: .both)
        let late: [Row] = [
            (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]), (70, .answer("a", Self.six), []),
            (80, .use("n.example"), ["cached 2001:db8::1 192.0.2.1"]),
        ]
        Self.play(script, first + late)
        // A delivery that is due after the end of the lookup does not replace the complete answer.
        let early: [Row] = [
            (20, .answer("a", Self.six), ["resume 1: fresh 2001:db8::1 192.0.2.1"]), (60, .time, []),
            (80, .use("n.example"), ["cached 2001:db8::1 192.0.2.1"]),
        ]
        Self.play(script, first + early)
    }

    @Test("the time to live of the first family counts from its arrival, not from the end of the lookup")
    func arrivals() {
        Self.play(
            MachineScript(["a"], families: .both),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
                (10, .answer("a", v4("192.0.2.1", ttl: 1)), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
                (900, .answer("a", Self.six), []),
                (1_000, .use("n.example"), ["cached 2001:db8::1 192.0.2.1"]),
                (
                    1_100, .use("n.example"),
                    ["stale 2001:db8::1 192.0.2.1", "ask a IPv6 n.example", "ask a IPv4 n.example"]
                ),
            ]
        )
    }

    @Test("a caller that comes after the first family was delivered waits no longer than the first callers")
    func joinedAfterDelivery() {
        let first: [Row] = [
            (0, .ask(1, "n.example"), ["wake 2000", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
            (10, .answer("a", Self.one), ["wake 60"]),
            (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
        ]
        let script = MachineScript(["a"], families: .both)
        Self.play(script, first + [(65, .ask(2, "n.example"), ["resume 2: cached 192.0.2.1"])])
        // A fresh answer is wanted: the old lookup ends.
        Self.play(
            script,
            first + [
                (
                    65, .ask(2, "n.example", fresh: true),
                    ["stop a IPv6", "wake 1865", "ask a IPv6 n.example", "ask a IPv4 n.example"]
                )
            ]
        )
    }

    @Test("addresses that the network cannot reach are not delivered before the other family")
    func unreachableFamily() {
        Self.play(
            MachineScript(["a"], families: .both),
            [
                (0, .network("n", families: .v4), ["announce n"]),
                (0, .ask(1, "n.example"), ["wake 2000", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
                (10, .answer("a", Self.six), []), (60, .ask(2, "n.example"), []),
                (300, .answer("a", Self.one), ["resume 1,2: fresh 192.0.2.1"]),
            ]
        )
    }

    @Test("after all addresses of the first family have failed, callers wait for the second, which is not asked again")
    func deliveredFamilyFailed() {
        Self.play(
            MachineScript(["a"], families: .both),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
                (10, .answer("a", Self.six), ["wake 60"]),
                (60, .time, ["resume 1: fresh 2001:db8::1", "wake 2000"]),
                (70, .attempt(.failed, "2001:db8::1", "n.example"), []), (80, .ask(2, "n.example"), []),
                (300, .answer("a", Self.one), ["resume 2: fresh 192.0.2.1 2001:db8::1"]),
            ]
        )
    }

    @Test("a hedge asks the next upstream when the first is slow, but not after the first family has arrived")
    func hedge() {
        let start: Row = (0, .ask(1, "n.example"), ["wake 250", "ask a n.example"])
        let script = MachineScript(["a", "b"]) { $0.order = .hedge }
        Self.play(
            script,
            [
                start, (250, .time, ["ask b n.example", "wake 2000"]),
                (300, .answer("b", Self.two), ["stop a", "resume 1: fresh 192.0.2.2"]),
            ]
        )
        Self.play(script, [start, (249, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]), (250, .time, [])])
        Self.play(
            MachineScript(["a", "b"], families: .both) { $0.order = .hedge },
            [
                (0, .ask(1, "n.example"), ["wake 250", "ask a IPv6 n.example", "ask a IPv4 n.example"]),
                (240, .answer("a", Self.one), []),
                (250, .time, ["wake 290"]), (290, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
            ]
        )
    }

    @Test("callers get an expired answer when the upstreams are slow, and when they fail")
    func stale() {
        let script = MachineScript(["a"]) { $0.limits.upstream = .seconds(4) }
        let expired: [Row] = [
            (0, .ask(1, "n.example"), ["wake 4000", "ask a n.example"]),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]), (4_000, .time, []),
            (70_000, .ask(2, "n.example"), ["wake 71800", "ask a n.example"]),
        ]
        // Each caller waits for the whole delay.
        let slow: [Row] = [
            (71_000, .ask(3, "n.example"), []), (71_800, .time, ["resume 2: stale 192.0.2.1", "wake 72800"]),
            (72_000, .answer("a", Self.two), ["resume 3: fresh 192.0.2.2"]),
        ]
        Self.play(script, expired + slow)
        let failed: [Row] = [
            (70_100, .fail("a", .lookupFailed), ["resume 2: stale 192.0.2.1"]), (71_800, .time, []),
            (99_000, .ask(4, "n.example"), ["resume 4: stale 192.0.2.1"]),
            (100_100, .ask(5, "n.example"), ["wake 101900", "ask a n.example"]),
        ]
        Self.play(script, expired + failed)
    }

    @Test("a name in use is refreshed once before its TTL ends")
    func refresh() {
        Self.play(
            MachineScript(["a"]) { $0.refresh.minUses = 2 },
            [
                (0, .use("n.example"), ["unknown", "ask a n.example", "wake 2000"]), (10, .answer("a", Self.one), []),
                (59_000, .use("n.example"), ["cached 192.0.2.1"]),
                (59_100, .use("n.example"), ["cached 192.0.2.1", "ask a n.example"]),
                (59_200, .use("n.example"), ["cached 192.0.2.1"]), (59_300, .answer("a", Self.two), []),
                (59_400, .use("n.example"), ["cached 192.0.2.2"]),
            ]
        )
    }

    @Test("an upstream that is down is skipped, and probed in addition to the next one")
    func probing() {
        Self.play(
            MachineScript(["a", "b"]) { $0.limits.failuresUntilDown = 1 },
            [
                (0, .ask(1, "n1.example"), ["wake 2000", "ask a n1.example"]), (10, .fail("a"), ["ask b n1.example"]),
                (20, .answer("b", Self.one), ["resume 1: fresh 192.0.2.1"]),
                (30, .ask(2, "n2.example"), ["ask b n2.example"]),
                (40, .answer("b", Self.one), ["resume 2: fresh 192.0.2.1"]),
                (1_010, .ask(3, "n3.example"), ["ask b n3.example", "ask a n3.example"]),
                (1_020, .answer("a", Self.two), []),
                (1_030, .answer("b", Self.one), ["resume 3: fresh 192.0.2.1"]),
                (1_040, .ask(4, "n4.example"), ["ask a n4.example"]),
            ]
        )
    }

    @Test("after all endpoints of a name have failed, the upstreams are asked again, but not within 5 s")
    func attempts() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                (10, .answer("a", v4("192.0.2.1 192.0.2.2")), ["resume 1: fresh 192.0.2.1 192.0.2.2"]),
                (20, .attempt(.failed, "192.0.2.1", "n.example"), []),
                (30, .use("n.example"), ["cached 192.0.2.2 192.0.2.1"]),
                (40, .attempt(.failed, "192.0.2.2", "n.example"), ["ask a n.example"]),
                (50, .answer("a", v4("192.0.2.1 192.0.2.2")), []),
                (60, .attempt(.failed, "192.0.2.2", "n.example"), []),
                (70, .attempt(.connected(after: .milliseconds(2)), "192.0.2.2", "n.example"), []),
                (80, .use("n.example"), ["cached 192.0.2.2 192.0.2.1"]),
            ]
        )
    }

    @Test("each network has its answers, and results of the previous network do not count against an upstream")
    func networks() {
        Self.play(
            MachineScript(["a"]) { $0.limits.failuresUntilDown = 1 },
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
                (20, .ask(2, "lost.example"), ["ask a lost.example"]), (30, .network("work"), ["announce work"]),
                (40, .fail("a"), ["resume 2: allUpstreamsFailed"]),
                (50, .ask(3, "n.example"), ["ask a n.example"]),
                (60, .answer("a", Self.two), ["resume 3: fresh 192.0.2.2"]), (70, .network(""), ["announce unknown"]),
                (80, .use("n.example"), ["cached 192.0.2.1"]), (90, .network("work"), ["announce work"]),
                (100, .use("n.example"), ["cached 192.0.2.2"]),
            ]
        )
    }

    @Test("while the resolver is off, the system is asked, also after a network change")
    func switchedOff() {
        Self.play(
            MachineScript(["a"]),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]), (20, .switched(on: false), []),
                (30, .network("work"), ["announce work"]), (40, .ask(2, "n.example"), ["ask system n.example"]),
                (50, .answer("system", Self.two), ["resume 2: system 192.0.2.2"]),
                (60, .switched(on: true), []), (70, .ask(3, "n.example"), ["ask a n.example"]),
            ]
        )
    }

    @Test("names above the limit of lookups are refused, and a shutdown ends all lookups")
    func limits() {
        Self.play(
            MachineScript(["a"]) { $0.limits.maxLookups = 2 },
            [
                (0, .ask(1, "n1.example"), ["wake 2000", "ask a n1.example"]),
                (1, .ask(2, "n2.example"), ["ask a n2.example"]),
                (2, .ask(3, "n3.example"), ["resume 3: tooManyLookups"]),
                (3, .ask(4, "n1.example"), []),
                (4, .close, ["stop a", "stop a", "resume 1,4: shutDown", "resume 2: shutDown"]),
                (5, .ask(5, "n1.example"), ["resume 5: shutDown"]), (6, .cancel(1), []),
            ]
        )
    }

    @Test("a lookup that ends in the step in which it would ask the next upstream asks none")
    func endOfTheSameStep() {
        Self.play(
            MachineScript(["a", "b"]),
            [
                (0, .ask(1, "n.example"), ["wake 2000", "ask a n.example"]),
                // The machine slept past the limits of the upstream and of the lookup.
                (6_000, .time, ["stop a", "resume 1: timeLimit"]),
            ]
        )
    }
}
