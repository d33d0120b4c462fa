// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineProxy
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

/// The options of `beeline proxy` and `beeline run`, without a process.
struct ProxyArgumentTests {
    private func configuration(_ arguments: String...) throws -> ProxyConfiguration {
        let command = try #require(try BeelineCommand.parseAsRoot(["proxy"] + arguments) as? ProxyCommand)
        let files = InputFiles(
            contents: { $0 == "pass" ? Array("secret\n".utf8) : [] },
            size: { _ in nil },
            askPassword: { _ in nil }
        )
        return try command.configuration(Defaults(), files: files)
    }

    @Test func withoutOptions() throws {
        let plain = try configuration()
        #expect(plain.listen.description == "127.0.0.1:8118")
        #expect(plain.policy == AccessPolicy())
        #expect(plain.credentials == nil && !plain.servesPAC)
    }

    @Test func everyOption() throws {
        let all = try configuration(
            "--listen",
            "0.0.0.0:0",
            "--auth",
            "me:pass",
            "--allow-ports",
            "22,443",
            "--allow-local-answers",
            "--pac"
        )
        #expect(all.listen.description == "0.0.0.0:0")
        #expect(all.credentials == ProxyCredentials(user: "me", password: "secret"))
        #expect(all.policy.tunnelPorts == [22, 443])
        #expect(all.policy.allowsLocalAnswers && !all.policy.allowsPrivateTargets && all.servesPAC)
    }

    @Test(arguments: [["--allow-ports", "x"], ["--allow-ports", "0"], ["--listen", "a.test:1"], ["--auth", "me"]])
    func wrongValues(arguments: [String]) throws {
        let command = try #require(try BeelineCommand.parseAsRoot(["proxy"] + arguments) as? ProxyCommand)
        let failure = #expect(throws: CommandFailure.self) { _ = try command.configuration(Defaults(), files: .real) }
        #expect(failure?.status == .usage)
    }

    @Test("a secret that is not UTF-8 is refused, because replaced octets would make another one")
    func secretThatIsNoText() throws {
        let proxy = try #require(try BeelineCommand.parseAsRoot(["proxy", "--auth", "me:pass"]) as? ProxyCommand)
        let files = InputFiles(contents: { _ in [0xff, 0xfe] }, size: { _ in nil }, askPassword: { _ in nil })
        let failure = #expect(throws: CommandFailure.self) { _ = try proxy.configuration(Defaults(), files: files) }
        #expect(failure?.status == .usage && failure?.message.contains("not UTF-8") == true)
    }

    @Test("a host of --gateway may be written with its subdomains, and a URL is refused with the form to write")
    func gatewayHosts() throws {
        for text in ["live.test", ".live.test", "*.live.test"] {
            #expect(try ProxyCommand.host(text).text == "live.test", "\(text)")
        }
        for text in ["https://live.test/", "live.test:8443", "live.test/a"] {
            let failure = #expect(throws: CommandFailure.self) { _ = try ProxyCommand.host(text) }
            #expect(failure?.status == .usage && failure?.message.contains("without scheme, port and path") == true)
        }
    }

    @Test("an option with the secret itself instead of its file does not print the secret")
    func secretInsteadOfItsFile() throws {
        let proxy = try #require(try BeelineCommand.parseAsRoot(["proxy", "--auth", "me:s3cret"]) as? ProxyCommand)
        let serve = ["serve", "--account", "id:s3cret"]
        let server = try #require(try BeelineCommand.parseAsRoot(serve) as? ServeCommand)
        let attempts: [() throws -> Void] = [
            { _ = try proxy.configuration(Defaults(), files: .real) },
            { _ = try ServePlan(server.options, files: .real) },
        ]
        for attempt in attempts {
            let failure = #expect(throws: CommandFailure.self) { try attempt() }
            #expect(failure?.message.contains("s3cret") == false, "\(failure?.message ?? "")")
        }
        let spec = #expect(throws: UpstreamError.self) { try UpstreamSpec(parsing: "aliyun:id:s3cret@192.0.2.1") }
        #expect(spec?.message.contains("s3cret") == false, "\(spec?.message ?? "")")
    }

    @Test func theProgramsEnvironment() {
        let environment = RunCommand.environment(["HOME": "/h", "NO_PROXY": "x.test"], proxy: "http://127.0.0.1:1")
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            #expect(environment[name] == "http://127.0.0.1:1")
        }
        #expect(environment["no_proxy"] == "x.test" && environment["NO_PROXY"] == "x.test")
        #expect(environment["HOME"] == "/h")
        #expect(RunCommand.environment([:], proxy: "p")["no_proxy"] == "localhost,127.0.0.1,::1")
    }
}

extension ProcessTests {
    /// `beeline proxy` and `beeline run` with curl, wget, git and Python.
    struct ProxyCommandTests {
        private static func lab() async throws -> CommandLab { try await CommandLab() }

        private func run(_ lab: CommandLab, _ program: String...) async throws -> CommandRun {
            let ports = "\(lab.site.port),\(lab.plain.port)"
            return try await lab.beeline(["run"] + lab.names + ["--allow-ports", ports, "--"] + program)
        }

        @Test("curl reaches a name that only the upstream can resolve, with and without TLS")
        func curl() async throws {
            let lab = try await Self.lab()
            for url in [lab.url("a.test", "/echo"), "http://b.test:\(lab.plain.port)/echo"] {
                let result = try await run(
                    lab,
                    "curl",
                    "-sS",
                    "--cacert",
                    "\(lab.folder.path)/ca.pem",
                    "-d",
                    "a=b",
                    url
                )
                #expect(result.status == 0, "\(result.errors)")
                #expect(result.text.contains("a=b"))
            }
            #expect(lab.site.requests.map(\.connection.serverName) == ["a.test"])
            await lab.stop()
        }

        @Test("curl reaches a name over SOCKS5")
        func curlOverSOCKS() async throws {
            let lab = try await Self.lab()
            let script = """
                exec curl -sS --noproxy '' -x socks5h://${http_proxy#http://} http://a.test:\(lab.plain.port)/status/200 \
                -o /dev/null -w '%{http_code}'
                """
            let result = try await run(lab, "sh", "-c", script)
            #expect(result.text == "200", "\(result.errors)")
            await lab.stop()
        }

        @Test("wget, git and Python's requests use the proxy of beeline run")
        func others() async throws {
            let lab = try await Self.lab()
            let roots = "\(lab.folder.path)/ca.pem"
            let wget = try await run(lab, "wget", "-qO-", "--ca-certificate=\(roots)", lab.url("a.test", "/bytes/10"))
            #expect(wget.output.count == 10, "\(wget.errors)")
            let program = """
                import requests, sys
                s = requests.Session(); s.verify = sys.argv[1]
                r = s.post(sys.argv[2], data={"user": "ada", "password": "ada"}); assert r.status_code == 200, r.text
                print(s.get(sys.argv[3]).text.strip())
                """
            let python = try await run(
                lab,
                "/usr/bin/python3",
                "-c",
                program,
                roots,
                lab.url("b.test", "/login"),
                lab.url("b.test", "/me")
            )
            #expect(python.text == "ada\n", "\(python.errors)")
            let git = try await run(
                lab,
                "git",
                "-c",
                "http.sslCAInfo=\(roots)",
                "ls-remote",
                lab.url("a.test", "/r.git")
            )
            #expect(git.status == 128)
            #expect(lab.site.requests.contains { $0.target == "/r.git/info/refs?service=git-upload-pack" })
            await lab.stop()
        }

        @Test(
            "beeline run ends with the program's exit code",
            arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] as [(String, Int32)]
        )
        func exitCodes(script: String, code: Int32) async throws {
            let folder = try Folder()
            let beeline = CommandRun.beeline
            let result = try await CommandRun.run(beeline, ["run", "--", "sh", "-c", script], in: folder)
            #expect(result.status == code, "\(result.errors)")
        }

        @Test("beeline run ends with 127 if the program is missing, as a shell does, and with 64 without a program")
        func noProgram() async throws {
            let folder = try Folder()
            let missing = try await CommandRun.run(CommandRun.beeline, ["run", "--", "no-such-program"], in: folder)
            #expect(missing.status == 127)
            #expect(missing.errors.contains("no-such-program"))
            #expect(try await CommandRun.run(CommandRun.beeline, ["run"], in: folder).status == 64)
        }

        @Test("beeline run passes a signal on to the program")
        func signals() async throws {
            let folder = try Folder()
            let script = "trap 'echo caught; exit 3' TERM; touch ready; while :; do sleep 0.05; done"
            let result = try await CommandRun.run(
                CommandRun.beeline,
                ["run", "--", "sh", "-c", script],
                in: folder
            ) { process in
                try await eventually("the start of the script") { folder.has("ready") }
                kill(process, SIGTERM)
            }
            #expect(result.status == 3)
            #expect(result.text == "caught\n")
        }

        @Test("the program inherits the descriptors that it is given, and no socket of the command")
        func descriptors() async throws {
            let folder = try Folder()
            try folder.write(Data("given".utf8), to: "given")
            // Equivalent to `beeline run -- cat <(…)`. The shell itself may inherit sockets of other tests.
            let list = "ls -l /proc/self/fd"
            let script = "\(list); echo --; exec \"$0\" run -- sh -c 'cat <&7; \(list)' 7<given"
            let result = try await CommandRun.run("/bin/sh", ["-c", script, CommandRun.beeline], in: folder)
            let parts = result.text.split(separator: "--\n").map { part in
                part.split { " \n".contains($0) }.filter { $0.hasPrefix("socket:") || $0.hasPrefix("anon_inode:") }
            }
            #expect(result.text.contains("--\ngiven"), "\(result.errors)")
            #expect(parts.count == 2 && Set(parts[1]).isSubset(of: parts[0]), "\(result.text)")
        }

        @Test("the program ignores a signal that the command was started to ignore")
        func ignoredSignals() async throws {
            let folder = try Folder()
            let script = "trap '' HUP; exec \"$0\" run -- sh -c 'kill -HUP $$; kill -HUP $PPID; echo alive'"
            let result = try await CommandRun.run("/bin/sh", ["-c", script, CommandRun.beeline], in: folder)
            #expect(result.text == "alive\n", "\(result.errors)")
            #expect(result.status == 0)
        }

        @Test("beeline proxy prints where it listens, logs tunnels with -v, and ends on SIGTERM")
        func proxy() async throws {
            let lab = try await Self.lab()
            let arguments =
                ["proxy", "--listen", "127.0.0.1:0", "-v", "--pac", "--allow-ports", "\(lab.site.port)"] + lab.names
            let url = lab.url("a.test", "/status/200")
            let folder = lab.folder
            // The file can be read while the command runs.
            let script = ["-c", "exec \"$0\" \"$@\" >seen", CommandRun.beeline]
            let result = try await CommandRun.run("/bin/sh", script + arguments, in: folder) { process in
                let seen = { (mark: String) in (try? folder.text("seen").contains(mark)) == true }
                try await eventually("the address of the proxy") { seen("/proxy.pac\n") }
                let first = try folder.text("seen").split(separator: "\n").first ?? ""
                let proxy = String(first.split(separator: " ").last ?? "")
                let curl = ["-sS", "-x", proxy, "--cacert", "\(folder.path)/ca.pem", url]
                #expect(try await CommandRun.run("/usr/bin/curl", curl, in: folder).status == 0)
                let pac = try await CommandRun.run("/usr/bin/curl", ["-sS", proxy + "/proxy.pac"], in: folder)
                #expect(pac.text.contains("FindProxyForURL"))
                let tunnel = ["-sS", "-p", "-x", proxy, "http://a.test:1/"]
                #expect(try await CommandRun.run("/usr/bin/curl", tunnel, in: folder).errors.contains("403"))
                try await eventually("the refusal in the log") { seen("403 a.test:1 ") }
                kill(process, SIGTERM)
            }
            #expect(result.status == 128 + SIGTERM, "\(result.errors)")
            let lines = try folder.text("seen").split(separator: "\n")
            #expect(lines.first?.hasPrefix("listening at http://127.0.0.1:") == true)
            #expect(lines.contains { $0.hasPrefix("CONNECT a.test:\(lab.site.port) 127.0.0.") && $0.hasSuffix(" ms") })
            await lab.stop()
        }

        /// Both commands run the resolver's background work, which fetches the service's list of servers.
        @Test(
            "beeline proxy and beeline run keep the service's list of servers up to date",
            arguments: [["proxy", "--listen", "127.0.0.1:0"], ["run", "--", "sleep", "60"]]
        )
        func follows(_ command: [String]) async throws {
            let lab = try await Self.lab()
            let dns = ["--dns", "aliyun+http:100000@127.0.0.1:\(lab.plain.port)", "--allow-local-answers"]
            let result = try await CommandRun.run(
                CommandRun.beeline,
                [command[0]] + dns + command.dropFirst(),
                in: lab.folder
            ) { process in
                defer { kill(process, SIGTERM) }
                try await eventually("the call", within: .seconds(30), every: .milliseconds(10)) {
                    lab.plain.requests.contains { $0.path == "/100000/ss" }
                }
            }
            #expect(result.status == 128 + SIGTERM, "\(result.errors)")
            await lab.stop()
        }

        @Test("a port that is in use is a one-line error")
        func portIsTaken() async throws {
            let lab = try await Self.lab()
            let result = try await lab.beeline(["proxy", "--listen", "127.0.0.1:\(lab.plain.port)"] + lab.names)
            #expect(result.status == 69)
            #expect(result.errors.split(separator: "\n").count == 1)
            #expect(result.errors.contains("127.0.0.1:\(lab.plain.port)"))
            let open = try await lab.beeline(["proxy", "--listen", "0.0.0.0:0"] + lab.names)
            #expect(open.status == 64)
            await lab.stop()
        }
    }
}
