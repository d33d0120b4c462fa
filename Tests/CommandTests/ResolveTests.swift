// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// `beeline resolve` prints addresses and the upstream of each.
    struct ResolveTests {
        /// The JSON keys of an answer.
        static let keys = [
            "addresses", "age_ms", "error", "failures", "network", "services", "source", "time_ms", "upstream",
        ]

        @Test func aLineAnAddress() async throws {
            let lab = try await CommandLab()
            try lab.upstream.zone.set("both.test", to: ["127.0.0.3", "::1"], ttl: 30)
            let run = try await lab.beeline(["resolve"] + lab.names + ["-4", "a.test", "both.test", "127.0.0.9"])
            let source = "dnspod:\(lab.upstream.endpoint)"
            let expected = """
                a.test 127.0.0.2 60 \(source)
                a.test 127.0.0.1 60 \(source)
                both.test 127.0.0.3 30 \(source)
                127.0.0.9 127.0.0.9 - literal

                """
            #expect(run.status == 0 && run.text == expected && run.errors == "")
            let v6 = try await lab.beeline(["resolve", "-6"] + lab.names + ["both.test"])
            #expect(v6.text == "both.test ::1 30 \(source)\n")
            await lab.stop()
        }

        /// More names than a resolver accepts at once.
        @Test func thousandsOfNamesAreResolved() async throws {
            let lab = try await CommandLab()
            let hosts = (0..<1_100).map { "name\($0).test" }
            for host in hosts { try lab.upstream.zone.set(host, to: ["127.0.0.3"], ttl: 30) }
            let run = try await lab.beeline(["resolve", "-4"] + lab.names + hosts)
            #expect(run.status == 0 && run.errors == "")
            #expect(run.text.split(separator: "\n").map { $0.prefix { $0 != " " } } == hosts.map { $0[...] })
            await lab.stop()
        }

        @Test func aNameThatIsNotResolvedIsSix() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["resolve"] + lab.names + ["a.test", "nobody.test"])
            #expect(run.status == 6 && run.text.hasPrefix("a.test 127.0.0.2 60 "))
            #expect(run.errors.hasPrefix("beeline: (6) ") && run.errors.contains("nobody.test"))
            let bogus = try await lab.beeline(["resolve", "--dns", "dnspod:\(lab.upstream.endpoint)", "a.test"])
            #expect(bogus.status == 6 && bogus.text == "" && bogus.errors.contains("127.0.0."))
            let malformed = try await lab.beeline(["resolve", "a b"])
            #expect(malformed.status == 3)
            await lab.stop()
        }

        @Test func allAsksEveryUpstream() async throws {
            let lab = try await CommandLab()
            let other = try await UpstreamServer.start()
            try other.zone.set("a.test", to: ["127.0.0.7"], ttl: 7)
            let dead = try RefusedEndpoint()
            let hosts = try lab.folder.write("127.0.0.8 a.test\n", to: "hosts")
            let specs = [
                "dnspod:\(lab.upstream.endpoint)", "dnspod:\(other.endpoint)", "dnspod:\(dead.endpoint)",
                "hosts:\(hosts)",
            ]
            let line = ["resolve", "--all", "-4", "--allow-local-answers"] + specs.flatMap { ["--dns", $0] }
            let run = try await lab.beeline(line + ["a.test"])
            #expect(run.status == 0)
            #expect(
                run.text.split(separator: "\n") == [
                    "a.test 127.0.0.2 60 \(specs[0])", "a.test 127.0.0.1 60 \(specs[0])",
                    "a.test 127.0.0.7 7 \(specs[1])",
                    "a.test 127.0.0.8 1 \(specs[3])",
                ]
            )
            #expect(run.errors.hasPrefix("beeline: (6) a.test: \(specs[2]): "))
            #expect(run.errors.filter(\.isNewline).count == 1)
            let json = try await lab.beeline(line + ["--json", "a.test"])
            let answers = try ReportView(json.text)["hosts"][0]["answers"]
            #expect(answers.count == 4 && json.errors == "")
            #expect(answers[1]["upstream"].text == specs[1] && answers[1]["addresses"][0]["ttl"].number == 7)
            #expect(answers[2]["error"]["code"].text == "unreachable" && answers[2]["source"].isNull)
            #expect(answers[1]["time_ms"].number ?? 0 > 0)
            // Without --all the next upstream answers, and the failure of the first is reported.
            let order = [specs[2], specs[1]].flatMap { ["--dns", $0] } + ["--allow-local-answers", "-4", "--json"]
            let second = try await lab.beeline(["resolve"] + order + ["a.test"])
            let answer = try ReportView(second.text)["hosts"][0]["answers"][0]
            #expect(answer.keys == Self.keys && answer["upstream"].text == specs[1])
            #expect(answer["failures"].count == 1 && answer["failures"][0]["upstream"].text == specs[2])
            #expect(answer["failures"][0]["code"].text == "unreachable")
            dead.close()
            await other.stop()
            await lab.stop()
        }

        @Test func jsonIsOneDocument() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["resolve", "--json"] + lab.names + ["a.test", "nobody.test"])
            #expect(run.status == 6 && run.errors == "")
            let hosts = try ReportView(run.text)["hosts"]
            #expect(hosts.count == 2 && hosts[0].keys == ["answers", "host"] && hosts[0]["host"].text == "a.test")
            let answer = hosts[0]["answers"][0]
            #expect(answer.keys == Self.keys)
            #expect(answer["network"].isNull && answer["time_ms"].isNull && answer["failures"].count == 0)
            #expect(answer["addresses"][0]["address"].text == "127.0.0.2" && answer["addresses"][0]["ttl"].number == 60)
            #expect(answer["source"].text == "fresh" && answer["error"].isNull)
            #expect(hosts[1]["answers"][0]["error"]["code"].text == "noAddress")
            await lab.stop()
        }
    }
}
