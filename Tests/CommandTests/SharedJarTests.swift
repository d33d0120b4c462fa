// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import DaemonSupport
import Foundation
import Testing

/// The server that is installed.
let redisProgram = ["/usr/bin/redis-server", "/usr/bin/valkey-server"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}

extension ProcessTests {
    /// Jars on a Redis server, and logins that machines share.
    @Suite(.enabled(if: redisProgram != nil, "neither redis-server nor valkey-server is installed"))
    struct SharedJarTests {
        /// Runs `body` with the port of a server that is up.
        static func withServer(_ body: (UInt16) async throws -> Void) async throws {
            let port = try freePorts(1)[0]
            let daemon = try await Daemon(try #require(redisProgram), readyAt: port) { folder in
                ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--dir", folder]
            }
            defer { daemon.stop() }
            try await body(port)
        }

        @Test func aJarOnAServerIsChangedAndReadByCommands() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let jar = ["--jar", "redis://127.0.0.1:\(port)/shop"]
                let cookies = { (arguments: [String]) in try await lab.beeline(["cookies"] + arguments) }
                let url = "https://www.example.com/"
                #expect(
                    try await cookies(["set"] + jar + [url, "a=1; Max-Age=1000", "session=2"]).text == "kept\nkept\n"
                )
                #expect(try await cookies(["header"] + jar + [url]).text == "a=1; session=2\n")
                let page = lab.plainURL("/set-cookie?value=b%3D3")
                #expect(try await lab.beeline(jar + ["-o", "/dev/null", page]).status == 0)
                #expect(try await cookies(["list"] + jar).text.split(separator: "\n").count == 3)
                #expect(try await cookies(["delete"] + jar + [url, "a"]).text == "deleted 1\n")
                let environment = ["BEELINE_JAR": jar[1]]
                let run = try await lab.beeline(["cookies", "list"], environment: environment)
                #expect(run.text.contains("session=2") && !run.text.contains("a=1"))
                await lab.stop()
            }
        }

        @Test func anEncryptedJarNeedsItsKeyFile() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let key = try lab.folder.write(Data(String(repeating: "ab", count: 32).utf8), to: "key")
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
                let jar = "redis://127.0.0.1:\(port)/secret"
                let url = "https://www.example.com/"
                let withKey = ["--jar", "\(jar)?key-file=\(key)"]
                #expect(try await lab.beeline(["cookies", "set"] + withKey + [url, "a=1"]).text == "kept\n")
                #expect(try await lab.beeline(["cookies", "header"] + withKey + [url]).text == "a=1\n")
                let without = try await lab.beeline(["cookies", "header", "--jar", jar, url])
                #expect(without.status == 26 && without.errors.contains("has cookies that cannot be read"))
                #expect(without.errors.split(separator: "\n").count == 1)
                // A forgotten key file must not put plain cookies beside the others.
                let setting = try await lab.beeline(["cookies", "set", "--jar", jar, url, "b=1"])
                #expect(setting.status == 26)
                #expect(try await lab.beeline(["cookies", "header"] + withKey + [url]).text == "a=1\n")
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
                let open = try await lab.beeline(["cookies", "header"] + withKey + [url])
                #expect(open.status == 26 && open.errors.contains("is open to all users; run: chmod 600 "))
                await lab.stop()
            }
        }

        @Test func aJarWithoutItsServerOrNameIsAnError() async throws {
            let lab = try await CommandLab()
            let port = try freePorts(1)[0]
            let url = "https://www.example.com/"
            let rows: [(String, Int32, String)] = [
                ("redis://127.0.0.1:\(port)/a", 7, "cannot be used"), ("redis://127.0.0.1", 64, "names no jar"),
                ("redis://127.0.0.1:x/a", 64, "[/DATABASE]/NAME"),
                ("redis+sentinel://127.0.0.1/a", 64, "/SERVICE/NAME"),
                ("redis://me:secret@127.0.0.1/a", 64, "password-file"),
                ("redis://127.0.0.1/a?x=1", 64, "password-file"),
                ("redis://127.0.0.1/a?key-file=none", 26, "cannot be opened"),
            ]
            for (jar, status, text) in rows {
                let run = try await lab.beeline(["cookies", "header", "--jar", jar, url])
                #expect(run.status == status && run.errors.contains(text), "\(jar): \(run)")
                #expect(!run.errors.contains("secret"))
            }
            #expect(try await lab.beeline(["-b", "redis://127.0.0.1/a", url]).status == 64)
            await lab.stop()
        }

        @Test func ofManyLoginsOneRunsItsProgram() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let folder = lab.folder.path
                let login = [
                    "login", "--jar", "redis://127.0.0.1:\(port)/shop", "--origin", "https://shop.test/", "--cookie",
                    "session", "--", "sh", "-c",
                    """
                    echo x >> \(folder)/count
                    printf 'shop.test\\tFALSE\\t/\\tTRUE\\t0\\tsession\\t42\\n' >> "$BEELINE_JAR"
                    """,
                ]
                try await withThrowingTaskGroup(of: CommandRun.self) { group in
                    for _ in 0..<4 { group.addTask { try await lab.beeline(login) } }
                    for try await run in group { #expect(run.status == 0, "\(run.errors)") }
                }
                let count = try String(contentsOfFile: "\(folder)/count", encoding: .utf8)
                #expect(count == "x\n")
                let jar = login[1...2]
                let header = try await lab.beeline(["cookies", "header"] + jar + ["https://shop.test/"])
                #expect(header.text == "session=42\n")
                #expect(try await lab.beeline(login).errors.contains("already logged in"))
                await lab.stop()
            }
        }

        @Test func aLoginThatFailsWritesNothing() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let login = [
                    "login", "--jar", "redis://127.0.0.1:\(port)/shop", "--origin", "https://shop.test/", "--cookie",
                    "session", "--",
                ]
                let failing = [
                    "sh", "-c", #"echo "shop.test FALSE / TRUE 0 session 1" | tr ' ' '\t' > $BEELINE_JAR; exit 9"#,
                ]
                #expect(try await lab.beeline(login + failing).status == 9)
                let without = try await lab.beeline(login + ["true"])
                #expect(without.status == 22 && without.errors.contains("did not log in"))
                let pipe = try await lab.beeline(login + ["sh", "-c", #"rm "$BEELINE_JAR" && mkfifo "$BEELINE_JAR""#])
                #expect(pipe.status == 22, "the program left a pipe, which blocks who reads it")
                #expect(try await lab.beeline(["cookies", "list", "--jar", login[2]]).text == "")
                #expect(try await lab.beeline(["login", "--jar", "a.txt"] + login[3...] + ["true"]).status == 64)
                await lab.stop()
            }
        }

        @Test func aLoginThatWritesAFreshFileKeepsTheCookiesOfOtherSites() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let jar = ["--jar", "redis://127.0.0.1:\(port)/shop"]
                for (url, cookie) in [("https://other.test/", "other=1"), ("https://shop.test/", "old=1")] {
                    #expect(try await lab.beeline(["cookies", "set"] + jar + [url, cookie]).text == "kept\n")
                }
                let program = #"printf 'shop.test\tFALSE\t/\tTRUE\t0\tsession\t42\n' > "$BEELINE_JAR""#
                let options = ["--origin", "https://shop.test/", "--cookie", "session", "--", "sh", "-c", program]
                #expect(try await lab.beeline(["login"] + jar + options).status == 0)
                for (url, header) in [("https://other.test/", "other=1\n"), ("https://shop.test/", "session=42\n")] {
                    let run = try await lab.beeline(["cookies", "header"] + jar + [url])
                    #expect(run.text == header, "\(url) \(run.status) \(run.errors)")
                }
                await lab.stop()
            }
        }

        @Test func theCookiesOfAKilledLoginAreDeletedByTheNext() async throws {
            try await Self.withServer { port in
                let lab = try await CommandLab()
                let temporary = "\(lab.folder.path)/temporary"
                try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
                @Sendable func leftovers() throws -> [String] {
                    try FileManager.default.contentsOfDirectory(atPath: temporary)
                }
                @Sendable func login(_ origin: String, _ program: String) -> [String] {
                    let jar = "redis://127.0.0.1:\(port)/shop"
                    return ["login", "--jar", jar, "--origin", origin, "--cookie", "a", "--", "sh", "-c", program]
                }
                let number = "\(lab.folder.path)/number"
                let environment = ["TMPDIR": temporary]
                let killed = try await CommandRun.run(
                    CommandRun.beeline,
                    login("https://a.test/", "echo $$ > new && mv new number && exec sleep 600"),
                    in: lab.folder,
                    environment: environment
                ) { process in
                    try await eventually("the start of the program", within: .seconds(60)) {
                        FileManager.default.fileExists(atPath: number)
                    }
                    // A login beside it, which must not delete the folder that is in use.
                    let beside = try await CommandRun.run(
                        CommandRun.beeline,
                        login("https://b.test/", "exit 9"),
                        in: lab.folder,
                        environment: environment
                    )
                    #expect(beside.status == 9)
                    #expect(try leftovers().count == 1)
                    kill(process, SIGKILL)
                }
                #expect(killed.status == 128 + SIGKILL)
                let program = try String(contentsOfFile: number, encoding: .utf8).filter(\.isNumber)
                kill(try #require(pid_t(program)), SIGKILL)
                #expect(try leftovers().count == 1)
                let next = try await CommandRun.run(
                    CommandRun.beeline,
                    login("https://b.test/", "exit 9"),
                    in: lab.folder,
                    environment: environment
                )
                #expect(next.status == 9)
                #expect(try leftovers() == [])
                await lab.stop()
            }
        }
    }
}
#endif
