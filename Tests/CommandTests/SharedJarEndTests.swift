// SPDX-License-Identifier: Apache-2.0

#if Redis
import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Signals and limits of commands with a jar on a Redis server.
    @Suite(
        .enabled(if: redisProgram?.hasSuffix("redis-server") ?? false, "redis-server is not installed"),
        .timeLimit(.minutes(2))
    )
    struct SharedJarEndTests {
        /// Pauses the server: it answers no client for a minute.
        private static func pause(_ port: UInt16, in folder: Folder) async throws {
            let words = ["-p", "\(port)", "CLIENT", "PAUSE", "60000"]
            let run = try await CommandRun.run("/usr/bin/redis-cli", words, in: folder)
            try #require(run.text == "OK\n")
        }

        @Test func aListOfASharedJarDeletesNoCookies() async throws {
            try await SharedJarTests.withServer { port in
                let lab = try await CommandLab()
                let jar = ["--jar", "redis://127.0.0.1:\(port)/shop"]
                let cookies = (0..<200).map { "c\($0)=1" }
                let set = try await lab.beeline(["cookies", "set"] + jar + ["https://www.example.com/"] + cookies)
                #expect(set.status == 0)
                for limit in [["--max-cookies", "10"], []] {
                    let list = try await lab.beeline(["cookies", "list"] + jar + limit)
                    #expect(list.text.split(separator: "\n").count == 200 && list.errors == "", "\(limit)")
                }
                await lab.stop()
            }
        }

        @Test func theSecondSignalEndsALoginWhoseProgramHasEnded() async throws {
            try await SharedJarTests.withServer { port in
                let lab = try await CommandLab()
                let program = #"""
                    printf 'shop.test\tFALSE\t/\tTRUE\t0\tsession\t42\n' >> "$BEELINE_JAR"
                    redis-cli -p "$0" CLIENT PAUSE 60000
                    echo $$ > new && mv new number
                    """#
                let login = [
                    "login", "--jar", "redis://127.0.0.1:\(port)/shop", "--origin", "https://shop.test/", "--cookie",
                    "session", "--", "sh", "-c", program, "\(port)",
                ]
                let number = "\(lab.folder.path)/number"
                let run = try await CommandRun.run(CommandRun.beeline, login, in: lab.folder) { process in
                    try await eventually("the start of the program", within: .seconds(60)) {
                        FileManager.default.fileExists(atPath: number)
                    }
                    let program = try String(contentsOfFile: number, encoding: .utf8).filter(\.isNumber)
                    let id = try #require(pid_t(program))
                    // Until the command has reaped it.
                    try await eventually("the end of the program", within: .seconds(60)) { kill(id, 0) != 0 }
                    // The command may still report the first ones.
                    try await eventually("the end of the command", within: .seconds(60), every: .milliseconds(50)) {
                        kill(process, SIGINT) != 0
                    }
                }
                #expect(run.status == 128 + SIGINT, "\(run.errors)")
                await lab.stop()
            }
        }

        @Test func anInterruptedFetchWritesItsFilesAlthoughTheServerOfItsJarIsAway() async throws {
            try await SharedJarTests.withServer { port in
                let gate = Gate()
                let tools = try Folder()
                let lab = try await CommandLab { _ in
                    // The command has read the jar, and has no cookie yet.
                    try? await Self.pause(port, in: tools)
                    return Reply(
                        fields: [.contentLength: "8", .setCookie: "a=1; Max-Age=1000"],
                        body: ["half", .wait(gate), "rest"]
                    )
                }
                let arguments = [
                    "-s", "--jar", "redis://127.0.0.1:\(port)/shop", "-c", "cookies.txt", "--hsts", "hosts.txt",
                    lab.plainURL(),
                ]
                let run = try await CommandRun.run(CommandRun.beeline, arguments, in: lab.folder) { process in
                    try await gate.arrivals(atLeast: 1)
                    // The command has the cookie, because it has printed a part of the body.
                    try await eventually("the first half", within: .seconds(60)) {
                        try FileManager.default.contentsOfDirectory(atPath: lab.folder.path).contains {
                            try $0.hasSuffix(".out") && lab.folder.data($0) == Data("half".utf8)
                        }
                    }
                    kill(process, SIGINT)
                }
                #expect(run.status == 128 + SIGINT, "\(run.errors)")
                #expect(lab.folder.has("hosts.txt"))
                #expect(try String(decoding: lab.folder.data("cookies.txt"), as: UTF8.self).contains("a\t1"))
                gate.open()
                await lab.stop()
            }
        }
    }
}
#endif
