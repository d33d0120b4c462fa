// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineServer
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// `beeline dns`: metrics, reload and a flood.
    struct DNSCommandTests {
        private static func has(_ program: String) -> Bool { FileManager.default.isExecutableFile(atPath: program) }

        @Test("metrics and health are served by HTTP, as the first line of output says")
        func metrics() async throws {
            let folder = try Folder()
            let upstream = try await OneAddressDNS("198.51.100.1")
            let options = ["--metrics", "127.0.0.1:0", "--dns", "dns:127.0.0.1:\(upstream.port)"]
            let run = try await DNSProcess.run(options, in: folder) { server in
                #expect(try await server.resolve("www.example.com", in: folder).contains(" 198.51.100.1 "))
                let metrics = try #require(server.metrics)
                for (path, words) in [("metrics", "{form=\"udp\",code=\"NOERROR\"} "), ("health", "ok\n")] {
                    let page = try await CommandRun.run(CommandRun.beeline, ["http://\(metrics)/\(path)"], in: folder)
                    #expect(page.status == 0 && page.text.contains(words), "\(page.text)\(page.errors)")
                }
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            await upstream.stop()
        }

        @Test("SIGHUP reads upstreams by domain again; those that stay keep their cache, and an error changes nothing")
        func reload() async throws {
            let folder = try Folder()
            let (one, two) = (try await OneAddressDNS("198.51.100.1"), try await OneAddressDNS("198.51.100.2"))
            let three = try await OneAddressDNS("198.51.100.3")
            @Sendable func file(_ second: OneAddressDNS) throws {
                let lines = "server=/a.example/127.0.0.1#\(one.port)\nserver=/b.example/127.0.0.1#\(second.port)\n"
                try folder.write(lines, to: "upstreams.conf")
            }
            try file(two)
            let options = ["--dns-file", "upstreams.conf", "--dns", "dns:127.0.0.1:\(one.port)"]
            let run = try await DNSProcess.run(options, in: folder) { server in
                #expect(try await server.resolve("x.a.example", in: folder).contains(" 198.51.100.1 "))
                #expect(try await server.resolve("x.b.example", in: folder).contains(" 198.51.100.2 "))
                // A query may have been repeated on a busy machine.
                let before = (one.questions, two.questions)
                try file(three)
                kill(server.process, SIGHUP)
                try await folder.waitForText("the reload") {
                    $0.contains("upstreams, lists, zones and certificate were reloaded")
                }
                #expect(try await server.resolve("x.a.example", in: folder).contains(" 198.51.100.1 "))
                #expect(try await server.resolve("x.b.example", in: folder).contains(" 198.51.100.3 "))
                #expect((one.questions, two.questions) == before && three.questions > 0)
                try folder.write(
                    "server=/a.example/127.0.0.1#1\nserver=/b.example/nonsense.host\n",
                    to: "upstreams.conf"
                )
                kill(server.process, SIGHUP)
                try await folder.waitForText("the error") {
                    $0.contains("nothing was changed: (64) upstreams.conf, line 2: ")
                }
                #expect(try await server.resolve("y.a.example", in: folder).contains(" 198.51.100.1 "))
                #expect(try await server.resolve("y.b.example", in: folder).contains(" 198.51.100.3 "))
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            for upstream in [one, two, three] { await upstream.stop() }
        }

        @Test("clients of settings that stay are kept, new ones are made, and those of no settings are given up")
        func clients() async throws {
            let folder = try Folder()
            let path = try folder.write("server=/a.example/192.0.2.1\nserver=/b.example/#\n", to: "file")
            func plan(_ line: String..., defaults: Defaults = Defaults()) throws -> DNSPlan {
                let arguments = try DNSArguments.parse(["--listen", "127.0.0.1:0"] + line)
                return try DNSPlan(arguments, NameOptions(), defaults: defaults, files: .real)
            }
            var clients = DNSClients()
            let (first, begun) = try clients.use(plan("--dns-file", path))
            #expect(begun.added.count == 2 && begun.removed.isEmpty)
            #expect(first.domains[try Host("x.b.example")] === first.main)
            let (same, unchanged) = try clients.use(plan("--dns-file", path))
            #expect(same.main === first.main && unchanged.added.isEmpty && unchanged.removed.isEmpty)
            #expect(same.domains[try Host("x.a.example")] === first.domains[try Host("a.example")])
            let (other, changed) = try clients.use(plan("--dns-for", "a.example=dns:192.0.2.2"))
            #expect(other.main === first.main && changed.added.count == 1 && changed.removed.count == 1)
            let (_, moved) = try clients.use(plan(defaults: Defaults(dns: ["dns:192.0.2.3"])))
            #expect(moved.added.count == 1 && moved.removed.count == 2)
            for client in begun.added + changed.added + moved.added { await client.shutDown() }
        }

        @Test("--listen may be repeated; DNS over TLS is on port 853 of its addresses, and overlaps are refused")
        func listening() throws {
            let folder = try Folder()
            let tls = ["--cert", try folder.write("", to: "cert"), "--key", try folder.write("", to: "key")]
            func plan(_ line: [String]) throws -> DNSServerConfiguration {
                try DNSPlan(DNSArguments.parse(line), NameOptions(), defaults: Defaults(), files: .real).configuration
            }
            let rows: [(line: [String], plain: [String], tls: [String])] = [
                ([], ["127.0.0.1:53"], ["127.0.0.1:853"]),
                (
                    ["--listen", "192.0.2.1", "--listen", "[::1]:5353"], ["192.0.2.1:53", "[::1]:5353"],
                    ["192.0.2.1:853", "[::1]:853"]
                ),
                (
                    ["--listen", "127.0.0.1:5353", "--listen", "0.0.0.0"], ["127.0.0.1:5353", "0.0.0.0:53"],
                    ["0.0.0.0:853"]
                ),
                (["--listen", "0.0.0.0", "--listen", "[::]:5353"], ["0.0.0.0:53", "[::]:5353"], ["[::]:853"]),
                (
                    ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--listen-tls", "192.0.2.1:1"],
                    ["127.0.0.1:0", "127.0.0.1:0"], ["192.0.2.1:1"]
                ),
            ]
            for row in rows {
                let configuration = try plan(row.line + tls)
                #expect(configuration.listen.map(\.description) == row.plain)
                #expect(configuration.listenTLS.map(\.description) == row.tls)
            }
            for (one, other) in [
                ("127.0.0.1:53", "127.0.0.1"), ("0.0.0.0:53", "192.0.2.1:53"), ("[::1]:53", "[::]:53"),
                ("[::]:53", "0.0.0.0:53"),
            ] {
                let error = #expect(throws: CommandFailure.self) { try plan(["--listen", one, "--listen", other]) }
                #expect(error?.message.contains("overlap") == true)
            }
            let both = try plan(["--listen", "0.0.0.0", "--listen", "[::1]", "--drain-delay", "2"])
            #expect(both.listen.count == 2 && both.drainDelay == .seconds(2))
            let many = (0..<65).flatMap { ["--listen", "127.0.0.1:\(1_000 + $0)"] }
            #expect(throws: CommandFailure.self) { try plan(many) }
        }

        @Test("the configuration file cannot make the server ask itself, and --dns wins over it")
        func withoutHTTPDNS() throws {
            var defaults = Defaults()
            defaults.httpdns = false
            let plan = try DNSPlan(DNSArguments.parse([]), NameOptions(), defaults: defaults, files: .real)
            #expect(plan.main.client.isHTTPDNSEnabled && !plan.main.client.upstreams.contains(.system))
            #expect(plan.main.client.resolver.network.asksUpstreamsForNAT64)
            var names = NameOptions()
            #expect(try !ClientConfiguration(names, defaults: defaults, files: .real).isHTTPDNSEnabled)
            names.dns = ["dns:192.0.2.1"]
            #expect(try ClientConfiguration(names, defaults: defaults, files: .real).isHTTPDNSEnabled)
        }

        /// Sends questions for different names as fast as the system takes them, and in between questions for a name that is in
        /// the cache. Its upstream answers that name only. Prints the number of questions sent, of cached answers, and the 99th
        /// percentile of their times in milliseconds.
        private static let flood = """
            import socket, struct, sys, threading, time
            def question(number, name):
                labels = b"".join(bytes([len(label)]) + label for label in name.split(b"."))
                return struct.pack(">6H", number & 65535, 256, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1"
            door, count = ("127.0.0.1", int(sys.argv[1])), int(sys.argv[2])
            asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            asker.connect(door)
            asker.settimeout(0.2)
            def ask(number):
                # As stub resolvers do: sockets lose datagrams during a flood.
                start = time.monotonic()
                for _ in range(100):
                    asker.send(question(number, b"cached.example"))
                    try:
                        while True:
                            reply = asker.recv(4096)
                            if struct.unpack(">H", reply[:2])[0] == number & 65535: break
                        return time.monotonic() - start, reply.endswith(b"\\xc6\\x33\\x64\\1")
                    except TimeoutError: pass
                return time.monotonic() - start, False
            assert ask(1)[1]
            sent = [0]
            def send():
                sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sender.connect(door)
                for number in range(count):
                    try: sender.send(question(number, b"n%d.flood.example" % number))
                    except OSError: continue
                    sent[0] += 1
            thread = threading.Thread(target=send)
            thread.start()
            times, answered = [], 0
            while thread.is_alive():
                duration, has = ask(len(times) + 2)
                times.append(duration)
                answered += has
            times.sort()
            print(sent[0], answered, len(times), round(times[len(times) * 99 // 100] * 1000))
            """

        @Test(
            "a flood of names that no upstream answers leaves memory bounded and cached names answered",
            .enabled(if: has("/usr/bin/python3"), "python3 is not installed")
        )
        func flood() async throws {
            let folder = try Folder()
            try folder.write(Self.flood, to: "flood.py")
            let upstream = try await OneAddressDNS("198.51.100.1") { $0.contains("cached") }
            let options = ["--dns", "dns:127.0.0.1:\(upstream.port)"]
            _ = try await DNSProcess.run(options, in: folder) { server in
                let run = try await CommandRun.run(
                    "/usr/bin/python3",
                    ["flood.py", "\(server.endpoint.port)", "50000"],
                    in: folder
                )
                let numbers = run.text.split { $0.isWhitespace }.compactMap { Int($0) }
                try #require(numbers.count == 4, "\(run.text)\(run.errors)")
                #expect(numbers[0] > 40_000 && numbers[1] == numbers[2] && numbers[2] > 0, "\(run.text)")
                // The stub resolvers of C libraries wait five seconds. A few samples have no 99th percentile.
                #expect(numbers[2] < 20 || numbers[3] < 5_000, "\(run.text)")
                let status = try String(contentsOfFile: "/proc/\(server.process)/status", encoding: .utf8)
                let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
                let kilobytes = try #require(peak?.split { !$0.isNumber }.first.flatMap { Int($0) })
                #expect(kilobytes < 400_000, "VmHWM \(kilobytes) kB")
            }
            await upstream.stop()
        }

        @Test("resolve --type says why there is no answer", .timeLimit(.minutes(1)))
        func missingRecords() async throws {
            let folder = try Folder()
            let dead = try RefusedEndpoint()
            let upstream = "dns:\(dead.endpoint)"
            for type in ["TXT", "A"] {
                let line = ["resolve", "--type", type, "--dns", upstream]
                let run = try await CommandRun.run(CommandRun.beeline, line + ["x.test"], in: folder)
                let start = "beeline: (6) x.test: no upstream gave a usable answer: \(upstream): "
                #expect(run.status == 6 && run.errors.hasPrefix(start), "\(run.errors)")
                #expect(run.errors.contains("refused"), "\(run.errors)")
                let json = try await CommandRun.run(CommandRun.beeline, line + ["--json", "x.test"], in: folder)
                let name = try ReportView(json.text)["names"][0]
                #expect(name["status"].text == "SERVFAIL" && name["errors"].texts == ["22"], "\(json.text)")
                #expect(name["failures"][0]["upstream"].text == upstream, "\(json.text)")
            }
            let line = ["resolve", "--type", "TXT", "--dns", "dnspod:\(dead.endpoint)", "x.test"]
            let other = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(other.status == 6 && other.errors.contains("no upstream carries records"), "\(other.errors)")
            dead.close()
        }

        @Test(
            "a user without privileges gets a truncated answer over TCP",
            .timeLimit(.minutes(1)),
            .enabled(if: CommandRun.canRunUnprivileged, "setpriv is not installed")
        )
        func unprivilegedTCP() async throws {
            let folder = try Folder()
            let records = (1...100).map { "www A 198.51.100.\($0)\n" }.joined()
            let head = "$ORIGIN door.example.\n$TTL 300\n@ SOA ns hostmaster 1 2h 15m 2w 5m\n"
            try folder.write(head + records, to: "door.zone")
            _ = try await DNSProcess.run(["--zone", "door.zone", "--dns", "dns:192.0.2.1"], in: folder) { server in
                let line = [CommandRun.beeline, "resolve", "-4", "--dns", "dns:\(server.endpoint)", "www.door.example"]
                let user = CommandRun.unprivileged
                let run = try await CommandRun.run(user[0], user.dropFirst() + line, in: folder)
                #expect(run.status == 0 && run.text.contains(" 198.51.100."), "\(run.text)\(run.errors)")
            }
        }

        @Test("resolve --type prints records of a type that -6 does not use", .timeLimit(.minutes(1)))
        func typeThatIsTurnedOff() async throws {
            let folder = try Folder()
            let upstream = try await OneAddressDNS("198.51.100.1")
            let line = ["resolve", "-6", "--type", "A", "--dns", "dns:127.0.0.1:\(upstream.port)", "www.example.com"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.status == 0 && run.text == "198.51.100.1\n", "\(run.text)\(run.errors)")
            await upstream.stop()
        }

        @Test("a signal ends resolve --type although the upstream is silent, and a bad name costs no answers")
        func endOfRecordLookups() async throws {
            let folder = try Folder()
            let isAsked = NIOLockedValueBox(false)
            let upstream = try await OneAddressDNS("198.51.100.1") { _ in
                isAsked.withLockedValue { $0 = true }
                return false
            }
            let line = ["resolve", "--dns", "dns:127.0.0.1:\(upstream.port)", "--type", "TXT", "a.example"]
            let start = NIOLockedValueBox(ContinuousClock.now)
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder) { process in
                try await eventually("the question") { isAsked.withLockedValue { $0 } }
                start.withLockedValue { $0 = .now }
                kill(process, SIGTERM)
            }
            #expect(run.status == 128 + SIGTERM && run.errors.isEmpty, "\(run.errors)")
            #expect(start.withLockedValue { ContinuousClock.now - $0 } < .seconds(5))
            isAsked.withLockedValue { $0 = false }
            let bad = try await CommandRun.run(CommandRun.beeline, line + ["a..example"], in: folder)
            #expect(bad.status == 3 && bad.errors.contains("\"a..example\" is not a name"), "\(bad.errors)")
            #expect(!isAsked.withLockedValue { $0 })
            await upstream.stop()
        }

        @Test func whatCannotBeServedEndsAtOnce() async throws {
            let folder = try Folder()
            let rows: [([String], Int32, String)] = [
                (["--listen", "nonsense"], 64, "--listen"), (["--cert", "x"], 64, "go together"),
                (["--listen-tls", "127.0.0.1:0"], 64, "needs --cert and --key"), (["--metrics", "x"], 64, "--metrics"),
                (["--drain-delay", "-1"], 64, "--drain-delay"),
                (["--listen", "192.0.2.1:0"], 7, "no interface of this machine has the address now"),
                (["--list", "missing"], 64, "missing"), (["--dns-file", "missing"], 26, "missing"),
            ]
            for (arguments, status, words) in rows {
                let run = try await CommandRun.run(
                    CommandRun.beeline,
                    ["dns", "--listen", "127.0.0.1:0"] + arguments,
                    in: folder
                )
                #expect(run.status == status && run.errors.contains(words), "\(arguments): \(run.errors)")
            }
        }
    }
}
