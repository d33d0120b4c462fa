// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import DirectHTTP
import Names
import Testing

@testable import HTTPDNS

@Suite("Origins: addresses together with HTTPS records")
struct OriginLookupTests {
    private static let one = v4("192.0.2.1")
    private static let two = v4("192.0.2.2")

    @Test("records are asked for together with the addresses, and say port and order")
    func together() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (10, .services("a", ["2 . alpn=h2", "1 . alpn=h2 port=8443"], ttl: 60), []),
                (12, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]),
                (20, .useOrigin(), ["cached 192.0.2.1:8443 192.0.2.1:443"]),
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
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (10, .answer("a", Self.one), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2000"]),
                (90, .services("a", ["1 . port=8443"], ttl: 60), []),
                (91, .useOrigin(), ["cached 192.0.2.1:8443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a name without records delays its first connection until an answer says so, by 50 ms at most")
    func cold() {
        let none = MachineScript.Step.services("a", [], ttl: 60)
        let connects = "resume 1: fresh 192.0.2.1"
        // The answer comes before the address, after it, or never.
        let rows: [[MachineScript.Row]] = [
            [(5, none, []), (10, .answer("a", Self.one), [connects])],
            [(10, .answer("a", Self.one), ["wake 60"]), (12, none, [connects])],
            [(10, .answer("a", Self.one), ["wake 60"]), (60, .time, [connects, "wake 2000"])],
        ]
        for row in rows { MachineScript.carrying().played([MachineScript.asked()] + row) }
    }

    @Test("if neither the other family nor records come, the first address waits for both at once")
    func oneDelay() {
        let script = MachineScript.carrying(families: .both)
        let (asked, never) = (
            ["wake 2000", "ask a IPv6 w.test.example", "ask a IPv4 w.test.example", "ask a HTTPS w.test.example"],
            ["wake 2000", "wake 60", "resume 1: fresh 192.0.2.1"]
        )
        script.played([
            (0, .askOrigin(1), asked), (10, .answer("a", Self.one), ["wake 60"]), (60, .time, never),
        ])
        // A negative answer costs nothing.
        script.played([
            (0, .askOrigin(1), asked), (5, .services("a", [], ttl: 60), []),
            (10, .answer("a", Self.one), ["wake 60"]), (60, .time, ["wake 2000", "resume 1: fresh 192.0.2.1"]),
        ])
    }

    @Test("hints are used when the addresses have not come")
    func hints() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (10, .services("a", ["1 . ipv4hint=192.0.2.9"], ttl: 60), ["wake 60"]),
                (60, .time, ["resume 1: fresh 192.0.2.9 to 192.0.2.9:443", "wake 2000"]),
                (70, .answer("a", Self.one), []),
                (71, .useOrigin(), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("an alias is followed, its target's addresses come first, and the origin's own are the fallback")
    func alias() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (5, .services("a", ["0 pool.cdn.example."], ttl: 60), ["ask a HTTPS pool.cdn.example"]),
                (8, .answer("a", Self.one), ["wake 58"]),
                (10, .services("a", [], ttl: 60), ["ask a pool.cdn.example"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.1 to 192.0.2.2:443 192.0.2.1:443"]),
                (30, .useOrigin(), ["cached 192.0.2.2:443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a name that has only an alias by records gets the addresses of its target")
    func apex() {
        MachineScript.carrying().played(
            [
                MachineScript.asked("test.example"),
                (5, .answer("a", Answer(v4: .absent(.noRecord, ttl: .seconds(60)))), ["wake 505"]),
                (10, .services("a", ["0 pool.cdn.example."], ttl: 60), ["ask a HTTPS pool.cdn.example"]),
                (15, .services("a", [], ttl: 60), ["ask a pool.cdn.example"]),
                (20, .answer("a", Self.two), ["resume 1: fresh 192.0.2.2 to 192.0.2.2:443"]),
            ]
        )
    }

    @Test("a name that does not exist fails at once")
    func noName() {
        MachineScript.carrying().played(
            [
                MachineScript.asked("test.example"),
                (5, .answer("a", Answer(v4: .absent(.noName, ttl: .seconds(60)))), ["resume 1: fresh -"]),
            ]
        )
    }

    @Test("callers share the question for records, and a cancelled caller leaves")
    func sharing() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (1, .askOrigin(2), []),
                (2, .cancel(1), ["resume 1: cancelled"]),
                (5, .services("a", ["1 . port=8443"], ttl: 60), []),
                (10, .answer("a", Self.one), ["resume 2: fresh 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]),
            ]
        )
    }

    @Test("the questions end with their only caller, but those for records go on for the cache")
    func cancelled() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (2, .cancel(1), ["stop a", "resume 1: cancelled"]),
                (5, .services("a", ["1 . port=8443"], ttl: 60), []),
            ]
        )
    }

    @Test("late addresses of a target with ECH are waited for, and the origin's own are not used in their place")
    func lateTarget() throws {
        let ech = Base64.encode(try ServerECH(publicName: "b.test").configurations)
        let start: [MachineScript.Row] = [
            MachineScript.asked(),
            (5, .services("a", ["1 svc.cdn.example. ech=\(ech)"], ttl: 60), ["ask a svc.cdn.example"]),
            (10, .answer("a", Self.one), []),
        ]
        let result = "fresh 192.0.2.1 to 192.0.2.2:443"
        MachineScript.carrying().played(
            start + [
                (300, .answer("a", Self.two), ["resume 1: \(result)"]),
                (301, .useOrigin(), ["cached 192.0.2.2:443"]),
            ]
        )
        MachineScript.carrying().played(start + [(300, .fail("a"), ["resume 1: noAddress"])])
        // A hint of a family that is not asked for leads nowhere.
        let hint = "1 svc.cdn.example. ipv6hint=2001:db8::1 ech=\(ech)"
        MachineScript.carrying().played([
            MachineScript.asked(), (5, .services("a", [hint], ttl: 60), ["ask a svc.cdn.example"]),
            (10, .answer("a", Self.one), []), (300, .answer("a", Self.two), ["resume 1: \(result)"]),
        ])
    }

    @Test("a client without ECH uses the origin's own addresses, too, if all records have ECH")
    func withoutECH() throws {
        let ech = Base64.encode(try ServerECH(publicName: "b.test").configurations)
        MachineScript.carrying().played([
            MachineScript.asked(usesECH: false), (5, .services("a", ["1 . port=8443 ech=\(ech)"], ttl: 60), []),
            (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1 to 192.0.2.1:8443 192.0.2.1:443"]),
            (11, .useOrigin(usesECH: false), ["cached 192.0.2.1:8443 192.0.2.1:443"]),
            (12, .useOrigin(), ["cached 192.0.2.1:8443"]),
        ])
        // Nor does it wait for the addresses of a target longer than for others.
        MachineScript.carrying().played([
            MachineScript.asked(usesECH: false),
            (5, .services("a", ["1 svc.cdn.example. ech=\(ech)"], ttl: 60), ["ask a svc.cdn.example"]),
            (10, .answer("a", Self.one), ["wake 60"]),
            (60, .time, ["resume 1: fresh 192.0.2.1", "wake 2005"]),
        ])
    }

    @Test("a lookup for no family asks no upstream")
    func noFamily() {
        MachineScript.carrying(families: []).played([(0, .ask(1, "w.test.example"), ["resume 1: noAddress"])])
    }

    @Test("a name without addresses does not wait for records that do not come until the time limit")
    func noAddress() {
        MachineScript.carrying().played(
            [
                MachineScript.asked("test.example"),
                (5, .answer("a", Answer(v4: .absent(.noRecord, ttl: .seconds(60)))), ["wake 505"]),
                (505, .time, ["resume 1: fresh -", "wake 2000"]),
            ]
        )
    }

    @Test("when the resolver is shut down, callers of origins get an error")
    func shutDown() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (5, .close, ["stop a HTTPS", "stop a", "resume 1: shutDown"]),
            ]
        )
    }
}
