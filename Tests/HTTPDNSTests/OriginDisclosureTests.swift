// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Names
import Testing

@testable import HTTPDNS

@Suite("Origins: tables, vendors and local names")
struct OriginDisclosureTests {
    private static let one = v4("192.0.2.1")
    private static let two = v4("192.0.2.2")

    @Test("a target of the local network is refused")
    func localTarget() {
        MachineScript.carrying().played(
            [
                MachineScript.asked(),
                (5, .services("a", ["1 router.lan. port=80"], ttl: 60), []),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
            ]
        )
    }

    @Test("an upstream that carries addresses only is not asked, nor another one after it")
    func vendor() {
        MachineScript(["a", "b"], carriers: ["b"]).played(
            [
                (0, .askOrigin(1), ["wake 2000", "ask a w.test.example"]),
                (10, .answer("a", Self.one), ["resume 1: fresh 192.0.2.1"]),
                (20, .useOrigin(), ["cached 192.0.2.1:443"]),
            ]
        )
    }

    @Test("a name that was denied meanwhile, and each name after the switch is off, is asked for at no further service")
    func deniedMeanwhile() {
        for step in [MachineScript.Step.denied("w.test.example"), .switched(on: false)] {
            MachineScript(["a", "b"], carriers: ["a", "b"]).played(
                [
                    MachineScript.asked(),
                    (5, step, ["stop a HTTPS", "stop a", "ask system w.test.example"]),
                    (10, .answer("system", Self.two), ["resume 1: system 192.0.2.2"]),
                    (2_000, .time, []),
                ]
            )
        }
    }

    @Test("a name of a table is not asked for at a service, and http stays http")
    func table() {
        let script = MachineScript.carrying {
            var table = HostsTable()
            table.add(IPAddress(v4: 0xc000_0201), for: host("w.test.example"))
            $0.upstreams.insert(FixedUpstream(table, name: "table"), at: 0)
        }
        script.played(
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
        let script = MachineScript.carrying {
            $0.upstreams.insert(ScriptedUpstream("file", kind: .fixed) { _ in .silence }, at: 0)
        }
        script.played(
            [
                (0, .askOrigin(1), ["wake 2000", "ask file w.test.example"]),
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

    @Test("a target that is in a table is not used")
    func targetOfTable() {
        let script = MachineScript.carrying {
            var table = HostsTable()
            table.add(IPAddress(v4: 0x0a00_0001), for: host("svc.cdn.example"))
            $0.upstreams.append(FixedUpstream(table, name: "table"))
        }
        script.played(
            [
                MachineScript.asked(),
                (1, .answer("a", Self.one), ["wake 51"]),
                (5, .services("a", ["1 svc.cdn.example. port=80"], ttl: 60), ["ask a svc.cdn.example"]),
                (6, .fail("a"), ["ask table svc.cdn.example"]),
                (7, .answer("table", v4("10.0.0.1")), ["resume 1: fresh 192.0.2.1"]),
                (8, .useOrigin(), ["cached 192.0.2.1:443"]),
            ]
        )
    }
}
