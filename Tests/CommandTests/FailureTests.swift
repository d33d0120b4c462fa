// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Every failure has its exit code and prints one line to standard error: what failed, at which endpoint, what to try.
    struct FailureTests {
        /// A fault of a server, and how the command reports it.
        struct Fault: CustomTestStringConvertible, Sendable {
            let what: String
            let status: Int32
            let says: String
            var arguments: [String] = []
            var tls: @Sendable (TestAuthority) throws -> ServerTLS?
            var serve: @Sendable (RawConnection) async throws -> Void

            var testDescription: String { what }

            /// A server without TLS that answers each request with `bytes` and closes.
            static func sends(
                _ what: String,
                bytes: String,
                status: Int32,
                says: String,
                _ arguments: String...
            ) -> Fault {
                Fault(what: what, status: status, says: says, arguments: arguments, tls: { _ in nil }) { connection in
                    _ = try await connection.receive(until: "\r\n\r\n")
                    try await connection.send(bytes)
                }
            }

            /// A server with this certificate.
            static func certificate(
                _ what: String,
                status: Int32,
                says: String,
                tls: @escaping @Sendable (TestAuthority) throws -> ServerTLS
            ) -> Fault {
                Fault(what: what, status: status, says: says, tls: { try tls($0) }) { connection in
                    _ = try await connection.receive(until: "\r\n\r\n")
                    try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }

        static let faults: [Fault] = [
            .sends("no answer", bytes: "", status: 52, says: "without a response"),
            .sends("half a head", bytes: "HTTP/1.1 200 OK\r\nContent-Le", status: 18, says: "middle of the head"),
            .sends("no HTTP", bytes: "SSH-2.0-x\r\n\r\n", status: 8, says: "not HTTP"),
            .sends("a bad status", bytes: "HTTP/1.1 2x0 OK\r\n\r\n", status: 1, says: "not HTTP"),
            .sends("a bad length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", status: 8, says: "not HTTP"),
            .sends(
                "two lengths",
                bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
                status: 8,
                says: "not HTTP"
            ),
            .sends(
                "half a body",
                bytes: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                status: 18,
                says: "middle of the body"
            ),
            .sends(
                "half a chunked body",
                bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
                status: 18,
                says: "middle"
            ),
            .sends(
                "a bad chunk",
                bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                status: 56,
                says: "not HTTP"
            ),
            .sends(
                "a huge head",
                bytes: "HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 400_000))\r\n\r\n",
                status: 56,
                says: "head is larger"
            ),
            .sends(
                "a redirect to a file",
                bytes: "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
                status: 1,
                says: "cannot be requested",
                "-L"
            ),
            .sends(
                "a redirect to a bad URL",
                bytes: "HTTP/1.1 302 Found\r\nLocation: http://x:y/\r\n\r\n",
                status: 3,
                says: "port",
                "-L"
            ),
            Fault(what: "silence", status: 28, says: "-m allows more", arguments: ["-m", "0.5"], tls: { _ in nil }) {
                connection in
                try await connection.hold()
            },
            Fault(
                what: "silence in a handshake",
                status: 28,
                says: "--connect-timeout",
                arguments: ["--connect-timeout", "0.5", "--secure"],
                tls: { _ in nil }
            ) { connection in
                try await connection.hold()
            },
            Fault(what: "no TLS", status: 35, says: "handshake", arguments: ["--secure"], tls: { _ in nil }) {
                connection in
                try await connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
            },
            .certificate("another name", status: 60, says: "another name") {
                ServerTLS(try $0.certificate(for: "b.test"))
            },
            .certificate("an expired certificate", status: 60, says: "expired") {
                ServerTLS(try $0.certificate(for: "a.test", flaw: .expired))
            },
            .certificate("a self-signed certificate", status: 60, says: "--cacert") {
                ServerTLS(try $0.certificate(for: "a.test", flaw: .selfSigned))
            },
        ]

        @Test(arguments: faults)
        func hasItsCode(_ fault: Fault) async throws {
            let folder = try Folder()
            let authority = try TestAuthority()
            try folder.write(authority.rootPEM, to: "ca.pem")
            let tls = try fault.tls(authority)
            let server = try await RawServer.start(tls: tls, serve: fault.serve)
            let isSecure = tls != nil || fault.arguments.contains("--secure")
            let pin = "a.test:\(server.port):127.0.0.1"
            let arguments =
                fault.arguments.filter { $0 != "--secure" } + [
                    "--cacert", "ca.pem", "--resolve", pin, "\(isSecure ? "https" : "http")://a.test:\(server.port)/",
                ]
            let run = try await CommandRun.run(CommandRun.beeline, arguments, in: folder)
            #expect(run.status == fault.status, "\(run.errors)")
            #expect(
                run.errors.hasPrefix("beeline: (\(fault.status)) ") && run.errors.contains(fault.says),
                "\(run.errors)"
            )
            #expect(run.errors.filter(\.isNewline).count == 1)
            await server.stop()
        }

        @Test func aDeadPortNamesTheEndpoint() async throws {
            let folder = try Folder()
            let dead = try RefusedEndpoint()
            let run = try await CommandRun.run(CommandRun.beeline, ["http://\(dead.endpoint)/"], in: folder)
            #expect(run.status == 7 && run.errors.contains("\(dead.endpoint)"))
            dead.close()
        }

        @Test func aBlackHoleEndsInTime() async throws {
            let folder = try Folder()
            let hole = try BlackHole()
            let start = ContinuousClock.now
            let line = ["--connect-timeout", "0.4", "http://\(hole.endpoint)/"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.status == 28 && run.errors.contains("\(hole.endpoint)"))
            #expect(start.duration(to: .now) < .seconds(8))
            hole.close()
        }

        @Test("a resolution that a time limit ends is late, not cancelled", arguments: ["--connect-timeout", "-m"])
        func lateResolution(option: String) async throws {
            let folder = try Folder()
            let silent = try await RawServer.start { try await $0.hold() }
            let line = ["--dns", "dnspod:\(silent.endpoint)", option, "0.4", "http://a.test/"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.status == 28 && run.errors.contains("a.test was not resolved in time"), "\(run.errors)")
            #expect(run.errors.contains("; \(option) allows more time"), "\(run.errors)")
            await silent.stop()
        }

        @Test("an error of the library names no setting that the command does not have")
        func noSettingsOfTheLibrary() async throws {
            let lab = try await CommandLab { request in
                let field = "X: \(String(repeating: "x", count: 90_000))\r\n"
                let fields = String(repeating: field, count: 4)
                return request.path == "/head"
                    ? .raw("HTTP/1.1 200 OK\r\n", .text(fields), "\r\n")
                    : .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", .text(fields), "\r\n")
            }
            let head = try await lab.beeline(["-s", "-S", lab.plainURL("/head")])
            #expect(head.errors.hasSuffix("its head is larger than 307200 bytes\n"), "\(head.errors)")
            let trailers = try await lab.beeline(["-s", "-S", lab.plainURL("/trailers")])
            #expect(trailers.errors.hasSuffix("its trailers are too large\n"), "\(trailers.errors)")
            await lab.stop()
        }

        @Test func anAddressThatNoPublicNameHasIsRefused() async throws {
            let lab = try await CommandLab()
            let spec = "dnspod:\(lab.upstream.endpoint)"
            let bogus = try await lab.beeline(["--dns", spec, "--cacert", "ca.pem", lab.url("a.test")])
            #expect(bogus.status == 6 && bogus.errors.contains("127.0.0."), "\(bogus.errors)")
            #expect(bogus.errors.contains("--allow-local-answers accepts it"), "\(bogus.errors)")
            #expect(lab.site.connections.accepted == 0)
            let resolved = try await lab.beeline(["resolve", "--dns", spec, "a.test"])
            #expect(resolved.errors.contains("; --allow-local-answers accepts it"), "\(resolved.errors)")
            #expect(!resolved.errors.contains("--no-httpdns"), "resolve has no such option")
            let unknown = try await lab.beeline(lab.names + [lab.url("nobody.test")])
            #expect(unknown.status == 6 && unknown.errors.contains("nobody.test"), "\(unknown.errors)")
            await lab.stop()
        }

        @Test func theProxysNameIsNotTheHosts() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-x", "http://nobody.invalid:1", lab.url("a.test")])
            #expect(run.status == 5 && run.errors.contains("nobody.invalid"), "\(run.errors)")
            await lab.stop()
        }

        @Test func silenceAndReportsKeepErrorsFromTheEye() async throws {
            let lab = try await CommandLab()
            let dead = try RefusedEndpoint()
            let url = "http://\(dead.endpoint)/"
            #expect(try await lab.beeline(["-s", url]).errors == "")
            #expect(try await lab.beeline(["-sS", url]).errors.hasPrefix("beeline: (7) "))
            let report = try ReportView(try await lab.beeline(["--report", url]).errors)
            #expect(
                report["exit"].number == 7 && report["error"]["code"].text == "connectFailed" && report["status"].isNull
            )
            #expect(report["error"]["attempts"][0]["endpoint"].text == "\(dead.endpoint)")
            #expect(report["error"]["attempts"][0]["outcome"].text == "failed")
            let named = try await lab.beeline(["--report", "--dns", "dnspod:\(dead.endpoint)", lab.url("a.test")])
            let failure = try ReportView(named.errors)["error"]
            #expect(failure["code"].text == "unresolved" && failure["upstreams"][0]["code"].text == "unreachable")
            dead.close()
            await lab.stop()
        }

        @Test(arguments: [
            ["--bogus", "http://x/"], ["-7", "http://x/"], ["-o"], ["fetch"], ["resolve"], ["resolve", "--bogus", "x"],
            ["--max-redirs", "x", "http://x/"], ["--json", "http://x/"],
        ])
        func wrongUsageIsOneLine(_ line: [String]) async throws {
            let run = try await CommandRun.run(CommandRun.beeline, line, in: try Folder())
            #expect(run.status == 64 && run.output.isEmpty)
            #expect(
                run.errors.hasPrefix("beeline: (64) ") && run.errors.filter(\.isNewline).count == 1,
                "\(run.errors)"
            )
        }

        @Test func aReaderThatLeavesEndsItQuietly() async throws {
            let lab = try await CommandLab()
            let line = "\(CommandRun.beeline) \(lab.plainURL("/bytes/50000000")) | head -c 1; echo ${PIPESTATUS[0]}"
            let run = try await CommandRun.run("/bin/bash", ["-c", line], in: lab.folder)
            #expect(run.text == "\0" + "23\n" && run.errors == "")
            await lab.stop()
        }

        @Test(arguments: [
            ("jar.txt", SIGINT), ("jar.sqlite", SIGINT), ("jar.sqlite", SIGTERM), ("jar.txt", SIGHUP),
            ("jar.sqlite", SIGHUP),
        ])
        func aSignalCancelsClosesAndKills(_ jar: String, _ signal: Int32) async throws {
            let gate = Gate()
            let lab = try await CommandLab { request in
                switch request.path {
                case "/cookie": .text("kept\n").adding(.setCookie, "a=b; Path=/")
                default: Reply(fields: [.contentLength: "10"], body: ["half", .wait(gate), "rest"])
                }
            }
            let line = [
                "--jar", jar, lab.plainURL("/cookie"), "-o", "/dev/null", "-o", "part", lab.plainURL("/slow"),
            ]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: lab.folder) { process in
                try await gate.arrivals(atLeast: 1)
                kill(process, signal)
            }
            #expect(run.status == 128 + signal && run.errors == "")
            let cookies = try await lab.beeline(["cookies", "export", "--jar", jar])
            #expect(cookies.text.contains("\ta\tb"))
            // The jar was closed properly: an SQLite jar has no log file left.
            #expect(!lab.folder.has(jar + "-wal") && !lab.folder.has(jar + "-lock"))
            await lab.stop()
        }
    }
}
