// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// The start of `beeline serve`, its log, and what it refuses.
    struct ServeTests {
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
            let run = try await ServeProcess.serving(lab, arguments: ["--access-log", "access.log"]) { endpoint, _ in
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

        @Test(.enabled(if: ServeProcess.has("/usr/bin/python3"), "python3 is not installed"))
        func systemdsSocketIsUsedInsteadOfTheAddress() async throws {
            let lab = try await CommandLab()
            let launcher = ["/usr/bin/python3", "-c", Self.activation]
            // This address is not of this machine: binding it would fail.
            _ = try await ServeProcess.serving(lab, arguments: ["--listen", "192.0.2.1:1"], by: launcher) {
                endpoint,
                _ in
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

        @Test func theLogIsOpenedAnewAtSIGHUP() async throws {
            let lab = try await CommandLab()
            let run = try await ServeProcess.serving(lab, arguments: ["--access-log", "access.log"]) {
                endpoint,
                process in
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
                (["--redis", "[::1]:1", "--redis-secret", "missing"], 26, "--redis-secret: the file cannot be read"),
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
