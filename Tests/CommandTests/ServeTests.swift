// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// `beeline serve` answers the command itself, curl, kdig, dig and Chromium.
    struct ServeTests {
        private static let zone = """
            $ORIGIN corp.test.
            $TTL 300
            @ SOA ns hostmaster 1 2h 15m 2w 5m
            www A 127.0.0.1
                HTTPS 1 . alpn="h2,http/1.1" port=8443
                CAA 0 issue "ca.test"
            mail MX 10 www
            alias CNAME www

            """

        /// Starts a server with TLS that asks the lab's service and serves a zone, runs `body` with its endpoint, and then
        /// ends it by SIGTERM.
        private static func serving(
            _ lab: CommandLab,
            arguments: [String] = [],
            by launcher: [String] = [],
            body: @escaping @Sendable (Endpoint, _ process: Int32) async throws -> Void
        ) async throws -> CommandRun {
            let certificate = try lab.authority.certificate(for: "dns.test", "127.0.0.1").write(to: lab.folder.path)
            try lab.folder.write(zone, to: "corp.zone")
            let options = ["--cert", certificate.chain, "--key", certificate.key, "--zone", "corp.zone"]
            let line = ["serve", "--listen", "127.0.0.1:0"] + lab.names + options + arguments
            let whole = launcher + [CommandRun.beeline] + line
            return try await CommandRun.run(whole[0], Array(whole.dropFirst()), in: lab.folder) { process in
                let endpoint = try await withTimeLimit(.seconds(20), for: { "the server's first line" }) {
                    while true {
                        // The output file of this run.
                        let names = try FileManager.default.contentsOfDirectory(atPath: lab.folder.path)
                        for name in names where name.hasSuffix(".out") {
                            let text = try lab.folder.text(name)
                            if text.hasPrefix("listening on https://"), text.hasSuffix("\n") {
                                return try Endpoint(parsing: String(text.dropFirst(21).dropLast()), defaultPort: nil)
                            }
                        }
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                defer { kill(process, SIGTERM) }
                try await body(endpoint, process)
            }
        }

        private static func has(_ program: String) -> Bool { FileManager.default.isExecutableFile(atPath: program) }

        @Test(
            "the error for a port in use has the system's words",
            arguments: [("serve", 7), ("dns", 7), ("proxy", 69)] as [(String, Int32)]
        )
        func portInUse(_ command: String, _ status: Int32) async throws {
            let other = try await RawServer.start { connection in try await connection.hold() }
            let place = "127.0.0.1:\(other.port)"
            let run = try await CommandRun.run(CommandRun.beeline, [command, "--listen", place], in: try Folder())
            let reason = "cannot listen on \(place): Address already in use; another program uses the port"
            #expect(run.status == status && run.errors.hasSuffix("beeline: (\(status)) \(reason)\n"), "\(run.errors)")
            await other.stop()
        }

        @Test func ourOwnClientAndTheLog() async throws {
            let lab = try await CommandLab()
            let run = try await Self.serving(lab, arguments: ["--access-log", "access.log"]) { endpoint, _ in
                let spec = "doh:https://dns.test:\(endpoint.port)/dns-query#127.0.0.1"
                let options = ["resolve", "-4", "--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                let answer = try await lab.beeline(options + ["a.test", "alias.corp.test"])
                #expect(answer.status == 0 && answer.text.contains("alias.corp.test 127.0.0.1 300 doh:"))
                #expect(answer.text.contains("a.test 127.0.0.2 60 "), "\(answer.text)\(answer.errors)")
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            // Our own client asks for HTTPS records, too.
            let log = try lab.folder.text("access.log").split(separator: "\n").filter { $0.contains(" A ") }
            #expect(
                log.count == 2 && log.contains { $0.contains(" 127.0.0.1 doh - alias.corp.test A 200 NOERROR zone ") }
            )
            await lab.stop()
        }

        /// Opens a socket, passes it as systemd does and becomes the given program.
        private static let activation = """
            import os, socket, sys
            listener = socket.create_server(("127.0.0.1", 0))
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
            os.execv(sys.argv[1], sys.argv[1:])
            """

        @Test(.enabled(if: has("/usr/bin/python3"), "python3 is not installed"))
        func systemdsSocketIsUsedInsteadOfTheAddress() async throws {
            let lab = try await CommandLab()
            let launcher = ["/usr/bin/python3", "-c", Self.activation]
            // This address is not of this machine: binding it would fail.
            _ = try await Self.serving(lab, arguments: ["--listen", "192.0.2.1:1"], by: launcher) { endpoint, _ in
                let spec = "doh:https://dns.test:\(endpoint.port)/dns-query#127.0.0.1"
                let options = ["resolve", "-4", "--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                let answer = try await lab.beeline(options + ["www.corp.test"])
                #expect(answer.text.hasPrefix("www.corp.test 127.0.0.1 300 "), "\(answer.text)\(answer.errors)")
            }
            await lab.stop()
        }

        @Test func onlyOneSocketOfThisProcessIsTaken() throws {
            func find(_ process: String, _ count: String) throws -> CInt? {
                try PassedSocket.find(in: ["LISTEN_PID": process, "LISTEN_FDS": count], process: 7)
            }
            #expect(try find("7", "1") == 3)
            #expect(try find("8", "1") == nil)
            #expect(try find("7", "0") == nil)
            #expect(try PassedSocket.find(in: [:], process: 7) == nil)
            #expect(throws: CommandFailure.self) { try find("7", "2") }
        }

        @Test func answersUnderWayAreFinishedAndLoggedAtSIGTERM() async throws {
            let lab = try await CommandLab()
            let gate = Gate()
            lab.upstream.zone.set("a.test", fault: .delayed(by: gate))
            _ = try await Self.serving(lab, arguments: ["--access-log", "access.log"]) { endpoint, process in
                let spec = "json:https://dns.test:\(endpoint.port)/resolve#127.0.0.1"
                let options = ["resolve", "-4", "--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                async let asked = lab.beeline(options + ["a.test"])
                try await eventually("the question at the upstream") { !lab.upstream.requests.isEmpty }
                kill(process, SIGTERM)
                try await withTimeLimit(.seconds(20), for: { "the port's end" }) {
                    while let connection = try? await RawConnection.connect(to: endpoint) {
                        await connection.close()
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                gate.open()
                let run = try await asked
                #expect(run.text.hasPrefix("a.test 127.0.0.2 "), "\(run.text)\(run.errors)")
            }
            #expect(try lab.folder.text("access.log").contains(" a.test "))
            await lab.stop()
        }

        @Test func theLogIsOpenedAnewAtSIGHUP() async throws {
            let lab = try await CommandLab()
            let run = try await Self.serving(lab, arguments: ["--access-log", "access.log"]) { endpoint, process in
                let spec = "json:https://dns.test:\(endpoint.port)/resolve#127.0.0.1"
                let options = ["resolve", "-4", "--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                func ask(_ name: String, until log: String) async throws {
                    _ = try await lab.beeline(options + [name])
                    try await eventually("\(name) in \(log)") { try lab.folder.text(log).contains(name) }
                }
                try await ask("www.corp.test", until: "access.log")
                let path = "\(lab.folder.path)/access.log"
                try FileManager.default.moveItem(atPath: path, toPath: "\(path).1")
                // A broken zone does not stop the log from being reopened.
                try lab.folder.write("$ORIGIN corp.test.\nwww A wrong\n", to: "corp.zone")
                kill(process, SIGHUP)
                try await eventually("the new file") { FileManager.default.fileExists(atPath: path) }
                try await ask("alias.corp.test", until: "access.log")
                let lines = try lab.folder.text("access.log.1").split(separator: "\n")
                #expect(lines.count { $0.contains(" A ") } == 1)
            }
            #expect(run.errors.contains("nothing was changed: ") && run.errors.contains("line 2"), "\(run.errors)")
            await lab.stop()
        }

        /// Runs curl on a path of the server.
        private static func curl(
            _ lab: CommandLab,
            _ path: String,
            at endpoint: Endpoint,
            options: [String] = []
        ) async throws -> CommandRun {
            let place = [
                "--resolve", "dns.test:\(endpoint.port):127.0.0.1", "https://dns.test:\(endpoint.port)\(path)",
            ]
            let line = ["-q", "-sS", "-m", "20", "--cacert", "ca.pem", "-w", " %{http_code}"] + options + place
            return try await CommandRun.run("/usr/bin/curl", line, in: lab.folder)
        }

        @Test(
            "SIGTERM takes the server out of the balancer's list for the drain delay, and a second one ends it at once",
            .enabled(if: has("/usr/bin/curl"), "curl is not installed")
        )
        func drainDelay() async throws {
            let lab = try await CommandLab()
            let run = try await Self.serving(lab, arguments: ["--drain-delay", "600"]) { endpoint, process in
                #expect(try await Self.curl(lab, "/ready", at: endpoint).text == "ok\n 200")
                kill(process, SIGTERM)
                try await withTimeLimit(.seconds(20), for: { "draining" }) {
                    while try await Self.curl(lab, "/ready", at: endpoint).text != "draining\n 503" {}
                }
                #expect(try await Self.curl(lab, "/health", at: endpoint).text == "ok\n 200")
                // The helper sends the second signal.
            }
            #expect(run.status == 128 + SIGTERM)
            await lab.stop()
        }

        @Test(
            "a reload with one unusable file keeps the accounts, and one without it replaces them",
            .enabled(if: has("/usr/bin/curl"), "curl is not installed")
        )
        func reloadOfAccounts() async throws {
            let lab = try await CommandLab()
            try lab.folder.write("old\n", to: "secret")
            let run = try await Self.serving(lab, arguments: ["--account", "7:secret"]) { endpoint, process in
                func status(_ token: String) async throws -> String {
                    String(try await Self.curl(lab, "/d?dn=www.corp.test&token=\(token)", at: endpoint).text.suffix(3))
                }
                func errors(_ words: String) async throws {
                    try await withTimeLimit(.seconds(20), for: { words }) {
                        while true {
                            let names = try FileManager.default.contentsOfDirectory(atPath: lab.folder.path)
                            let text = try names.filter { $0.hasSuffix(".err") }.map { try lab.folder.text($0) }
                            if text.joined().contains(words) { return }
                            try await Task.sleep(for: .milliseconds(5))
                        }
                    }
                }
                #expect(try await status("old") == "200")
                let key = "server.key"
                let content = try lab.folder.text(key)
                try lab.folder.write("new\n", to: "secret")
                try lab.folder.write("no key", to: key)
                kill(process, SIGHUP)
                try await errors("nothing was changed: ")
                #expect(try await status("old") == "200")
                #expect(try await status("new") == "401")
                try lab.folder.write(content, to: key)
                kill(process, SIGHUP)
                try await errors("were reloaded")
                #expect(try await status("old") == "401")
                #expect(try await status("new") == "200")
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            await lab.stop()
        }

        private static let redis = ["/usr/bin/redis-server", "/usr/bin/valkey-server"].first(where: has) ?? ""

        @Test(
            "servers that share a Redis allow an account its quota together",
            .enabled(if: has(redis) && has("/usr/bin/curl"), "redis-server or curl is not installed")
        )
        func quotaOfSeveralServers() async throws {
            let lab = try await CommandLab()
            try lab.folder.write("s3cret\n", to: "secret")
            let free = try await LoopbackOrigin.start(addresses: ["127.0.0.1"], handler: Routes.standard)
            let port = free.port
            await free.stop()
            let line = ["--port", "\(port)", "--bind", "127.0.0.1", "--save", ""]
            _ = try await CommandRun.run(Self.redis, line, in: lab.folder) { process in
                // Redis inherits the test's mask of signals, and SIGTERM may be in it.
                defer { kill(process, SIGKILL) }
                let other = try await CommandLab()
                try other.folder.write("s3cret\n", to: "secret")
                let options = [
                    "--account", "7:secret", "--account-quota", "7=60/d", "--redis", "127.0.0.1:\(port)",
                ]
                _ = try await Self.serving(lab, arguments: options) { first, _ in
                    _ = try await Self.serving(other, arguments: options) { second, _ in
                        // Until both are connected, they count alone.
                        let client = Self.redis.replacing("-server", with: "-cli")
                        try await withTimeLimit(.seconds(20), for: { "two clients of Redis" }) {
                            while true {
                                let line = ["-p", "\(port)", "info", "clients"]
                                let info = try await CommandRun.run(client, line, in: other.folder)
                                // With the one that asks.
                                if info.text.contains("connected_clients:3") { return }
                                try await Task.sleep(for: .milliseconds(20))
                            }
                        }
                        var statuses: [String: Int] = [:]
                        for (lab, endpoint) in [(lab, first), (other, second)] {
                            // One run of curl asks many times.
                            let url = "/d?dn=www.corp.test&token=s3cret&n=[1-50]"
                            let run = try await Self.curl(lab, url, at: endpoint, options: ["-o", "/dev/null"])
                            for status in run.text.split(separator: " ") { statuses["\(status)", default: 0] += 1 }
                        }
                        #expect(statuses == ["200": 60, "429": 40], "\(statuses)")
                    }
                }
                await other.stop()
            }
            await lab.stop()
        }

        private static let haproxy = "/usr/sbin/haproxy"

        /// HAProxy that passes TCP through, with the PROXY protocol.
        private static func balancer(_ port: UInt16, to endpoint: Endpoint, _ options: String) -> String {
            """
            defaults
                mode tcp
                timeout connect 5s
                timeout client 20s
                timeout server 20s
            listen dns
                bind 127.0.0.1:\(port)
                server one \(endpoint) \(options) check inter 100ms

            """
        }

        @Test(
            "HAProxy's header names the client, and its health checks are accepted",
            .enabled(if: has(haproxy) && has("/usr/bin/curl"), "haproxy or curl is not installed"),
            arguments: ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id,authority"]
        )
        func haproxyNamesTheClient(_ options: String) async throws {
            let lab = try await CommandLab()
            let arguments = [
                "--access-log", "access.log", "--access-log-format", "json", "--proxy-protocol", "127.0.0.1",
            ]
            let run = try await Self.serving(lab, arguments: arguments) { endpoint, _ in
                // The port is free again when HAProxy binds it.
                let free = try await LoopbackOrigin.start(addresses: ["127.0.0.1"], handler: Routes.standard)
                let port = free.port
                await free.stop()
                try lab.folder.write(Self.balancer(port, to: endpoint, options), to: "haproxy.cfg")
                let line = ["-db", "-f", "haproxy.cfg"]
                let proxy = try await CommandRun.run(Self.haproxy, line, in: lab.folder) { process in
                    defer { kill(process, SIGTERM) }
                    let front = Endpoint(endpoint.address, port: port)
                    try await withTimeLimit(.seconds(20), for: { "an answer through HAProxy" }) {
                        while true {
                            // Another address of this machine, so that the client differs from HAProxy.
                            let asked = try await Self.curl(
                                lab,
                                "/resolve?name=www.corp.test",
                                at: front,
                                options: ["--interface", "127.0.0.5"]
                            )
                            if asked.text.hasSuffix(" 200") { return }
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                }
                #expect(!proxy.errors.contains("DOWN"), "\(proxy.errors)")
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
            let line = try #require(try lab.folder.text("access.log").split(separator: "\n").last)
            let record = try ReportView(String(line))
            #expect(record["client"].text == "127.0.0.5" && record["names"].texts == ["www.corp.test"], "\(line)")
            await lab.stop()
        }

        @Test("SIGHUP while the server still reads its files does not end it, and reloads them once it runs")
        func reloadBeforeTheServerRuns() async throws {
            let folder = try Folder()
            let secret = "\(folder.path)/secret"
            try #require(mkfifo(secret, 0o600) == 0)
            let line = ["serve", "--listen", "127.0.0.1:0", "--dns", "system", "--account", "id:\(secret)"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder) { process in
                defer { kill(process, SIGTERM) }
                let pipe = try await withTimeLimit(.seconds(20), for: { "the server to open the secret" }) {
                    while true {
                        let pipe = open(secret, O_WRONLY | O_NONBLOCK)
                        if pipe >= 0 { return pipe }
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                kill(process, SIGHUP)
                try FileManager.default.removeItem(atPath: secret)
                try folder.write("s3cret\n", to: "secret")
                try #require(write(pipe, "s3cret\n", 7) == 7)
                close(pipe)
                try await withTimeLimit(.seconds(20), for: { "the reload" }) {
                    while true {
                        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                        let errors = try names.filter { $0.hasSuffix(".err") }.map { try folder.text($0) }
                        if errors.joined().contains("were reloaded") { return }
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
            }
            #expect(run.text.hasPrefix("listening on http://127.0.0.1:"), "\(run.text)\(run.errors)")
        }

        @Test(.enabled(if: has("/usr/bin/curl"), "curl is not installed"), arguments: ["--http1.1", "--http2"])
        func curlIsToldThatAQuestionIsTooLarge(_ version: String) async throws {
            let lab = try await CommandLab()
            try lab.folder.write(Data(count: 300_000), to: "large")
            _ = try await Self.serving(lab) { endpoint, _ in
                let type = ["-H", "content-type: application/dns-message", "--data-binary", "@large"]
                let place = [
                    "--resolve", "dns.test:\(endpoint.port):127.0.0.1", "https://dns.test:\(endpoint.port)/dns-query",
                ]
                let run = try await CommandRun.run(
                    "/usr/bin/curl",
                    ["-q", "-sS", "-m", "20", "--cacert", "ca.pem", version, "-w", "%{http_code}"] + type + place,
                    in: lab.folder
                )
                #expect(run.status == 0 && run.text.hasSuffix("413"), "\(run.text) \(run.errors)")
            }
            await lab.stop()
        }

        @Test(.enabled(if: has("/usr/bin/curl"), "curl is not installed"))
        func curlFindsASiteByIt() async throws {
            let lab = try await CommandLab()
            _ = try await Self.serving(lab) { endpoint, _ in
                let fetched = try await CommandRun.run(
                    "/usr/bin/curl",
                    [
                        "-q", "-sS", "--cacert", "ca.pem", "--doh-insecure", "--doh-url",
                        "https://127.0.0.1:\(endpoint.port)/dns-query", "-o", "/dev/null", "-w",
                        "%{http_code} %{remote_ip}",
                        lab.url("a.test", "/echo"),
                    ],
                    in: lab.folder
                )
                #expect(fetched.text.hasPrefix("200 127.0.0."), "\(fetched.text) \(fetched.errors)")
            }
            await lab.stop()
        }

        @Test(.enabled(if: has("/usr/bin/kdig"), "kdig is not installed"))
        func kdigAsksByGETAndPOST() async throws {
            let lab = try await CommandLab()
            _ = try await Self.serving(lab) { endpoint, _ in
                for form in ["+https", "+https-get"] {
                    let asked = try await CommandRun.run(
                        "/usr/bin/kdig",
                        [
                            form, "+tls-ca=ca.pem", "+tls-host=dns.test", "+padding=128", "@127.0.0.1", "-p",
                            "\(endpoint.port)", "alias.corp.test", "A", "mail.corp.test", "MX", "nobody.corp.test", "A",
                            "a.test", "A", "www.corp.test", "HTTPS", "www.corp.test", "CAA",
                        ],
                        in: lab.folder
                    )
                    for words in [
                        "alias.corp.test.", "status: NXDOMAIN", "10 www.corp.test.", "127.0.0.2", "EDNS PSEUDOSECTION",
                        "1 . alpn=h2,http/1.1 port=8443", "0 issue \"ca.test\"",
                    ] {
                        #expect(asked.text.contains(words), "\(form): \(asked.text) \(asked.errors)")
                    }
                }
            }
            await lab.stop()
        }

        @Test(.enabled(if: has("/usr/bin/dig"), "dig is not installed"))
        func digAsksByHTTPS() async throws {
            let lab = try await CommandLab()
            _ = try await Self.serving(lab) { endpoint, _ in
                let asked = try await CommandRun.run(
                    "/usr/bin/dig",
                    ["+https", "@127.0.0.1", "-p", "\(endpoint.port)", "+short", "alias.corp.test"],
                    in: lab.folder
                )
                #expect(asked.text == "www.corp.test.\n127.0.0.1\n", "\(asked.text) \(asked.errors)")
            }
            await lab.stop()
        }

        private static let chromium =
            ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first(where: has) ?? ""

        @Test(
            .enabled(if: has(chromium) && has("/usr/bin/certutil"), "chromium or certutil is not installed"),
            .timeLimit(.minutes(2))
        )
        func chromiumFindsASiteByItsSecureDNS() async throws {
            let lab = try await CommandLab()
            let log = "access.log"
            _ = try await Self.serving(lab, arguments: ["--access-log", log]) { endpoint, _ in
                // Chromium gets a home and a profile in the test's folder, so that it uses none of this machine.
                let home = lab.folder.path
                for folder in [".pki/nssdb", "profile"] {
                    try FileManager.default.createDirectory(
                        atPath: "\(home)/\(folder)",
                        withIntermediateDirectories: true
                    )
                }
                let database = ["-d", "sql:\(home)/.pki/nssdb"]
                for arguments in [["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "lab", "-i", "ca.pem"]] {
                    let made = try await CommandRun.run("/usr/bin/certutil", database + arguments, in: lab.folder)
                    try #require(made.status == 0, "\(made.errors)")
                }
                let secureDNS = ["mode": "secure", "templates": "https://127.0.0.1:\(endpoint.port)/dns-query"]
                let state = try JSONSerialization.data(withJSONObject: ["dns_over_https": secureDNS])
                try lab.folder.write(state, to: "profile/Local State")
                let page = try await CommandRun.run(
                    Self.chromium,
                    [
                        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                        "--disable-component-update", "--no-first-run", "--user-data-dir=\(home)/profile",
                        "--dump-dom", lab.url("a.test", "/echo"),
                    ],
                    in: lab.folder
                )
                #expect(page.text.contains("a.test:\(lab.site.port)"), "\(page.text) \(page.errors)")
            }
            let asked = try lab.folder.text(log)
            #expect(asked.contains(" doh - a.test A 200 NOERROR "), "\(asked)")
            await lab.stop()
        }

        @Test func whatCannotBeServedEndsAtOnce() async throws {
            let lab = try await CommandLab()
            let rows: [([String], Int32, String)] = [
                (["--listen", "nonsense"], 64, "--listen"), (["--cert", "x"], 64, "go together"),
                (["--zone", "missing.zone"], 64, "missing.zone cannot be read: No such file or directory"),
                (["--zone", "."], 64, ". is not a regular file"), (["--account", "1"], 64, "ID:SECRETFILE"),
                (["--dns", "hosts:missing"], 64, "the file missing cannot be read: No such file or directory"),
                (["--trust-proxy", "lb.test"], 64, "10.0.0.0/8"),
                (["--proxy-protocol", "lb.test"], 64, "--proxy-protocol"),
                (["--drain-delay", "-1"], 64, "--drain-delay"),
                (["--max-connections", "0"], 64, "--max-connections"),
                (["--access-log-format", "xml"], 64, "access-log-format"),
                (["--account-quota", "7=5/s"], 64, "there is no --account 7"),
                (["--account-quota", "7=5"], 64, "write ID=N/s"), (["--account-quota", "7=0/d"], 64, "write ID=N/s"),
                (["--private-names", "lan"], 64, "none, loopback or all"),
                (["--account", "1:missing"], 26, "--account: the file cannot be read"),
                (["--listen", "192.0.2.1:0"], 7, "192.0.2.1"),
            ]
            for (arguments, status, words) in rows {
                let run = try await lab.beeline(["serve", "--listen", "127.0.0.1:0"] + arguments)
                #expect(run.status == status && run.errors.contains(words), "\(arguments): \(run.errors)")
            }
            await lab.stop()
        }
    }
}
