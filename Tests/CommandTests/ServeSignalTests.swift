// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

extension ProcessTests {
    /// Signals end and reload `beeline serve`.
    struct ServeSignalTests {
        @Test func answersUnderWayAreFinishedAndLoggedAtSIGTERM() async throws {
            let lab = try await CommandLab()
            let gate = Gate()
            lab.upstream.zone.set("a.test", fault: .delayed(by: gate))
            _ = try await ServeProcess.serving(lab, arguments: ["--access-log", "access.log"]) { endpoint, process in
                let spec = "json:https://dns.test:\(endpoint.port)/resolve#127.0.0.1"
                let options = ["resolve", "-4", "--dns", spec, "--allow-local-answers", "--cacert", "ca.pem"]
                async let asked = lab.beeline(options + ["a.test"])
                try await eventually("the question at the upstream") { !lab.upstream.requests.isEmpty }
                kill(process, SIGTERM)
                try await eventually("the port's end", every: .milliseconds(5)) {
                    guard let connection = try? await RawConnection.connect(to: endpoint) else { return true }
                    await connection.close()
                    return false
                }
                gate.open()
                let run = try await asked
                #expect(run.text.hasPrefix("a.test 127.0.0.2 "), "\(run.text)\(run.errors)")
            }
            #expect(try lab.folder.text("access.log").contains(" a.test "))
            await lab.stop()
        }

        @Test(
            "SIGTERM takes the server out of the balancer's list for the drain delay, and a second one ends it at once",
            .enabled(if: ServeProcess.has("/usr/bin/curl"), "curl is not installed")
        )
        func drainDelay() async throws {
            let lab = try await CommandLab()
            let run = try await ServeProcess.serving(lab, arguments: ["--drain-delay", "600"]) { endpoint, process in
                #expect(try await ServeProcess.curl(lab, "/ready", at: endpoint).text == "ok\n 200")
                kill(process, SIGTERM)
                try await eventually("draining") {
                    try await ServeProcess.curl(lab, "/ready", at: endpoint).text == "draining\n 503"
                }
                #expect(try await ServeProcess.curl(lab, "/health", at: endpoint).text == "ok\n 200")
                // The helper sends the second signal.
            }
            #expect(run.status == 128 + SIGTERM)
            await lab.stop()
        }

        @Test(
            "a reload with one unusable file keeps the accounts, and one without it replaces them",
            .enabled(if: ServeProcess.has("/usr/bin/curl"), "curl is not installed")
        )
        func reloadOfAccounts() async throws {
            let lab = try await CommandLab()
            try lab.folder.write("old\n", to: "secret")
            let run = try await ServeProcess.serving(lab, arguments: ["--account", "7:secret"]) { endpoint, process in
                func status(_ token: String) async throws -> String {
                    String(
                        try await ServeProcess.curl(lab, "/d?dn=www.corp.test&token=\(token)", at: endpoint).text
                            .suffix(3)
                    )
                }
                func errors(_ words: String) async throws {
                    try await lab.folder.waitForText(words) { $0.contains(words) }
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

        @Test(
            "a reload that fails because a secret is gone is counted in the metrics",
            .enabled(if: ServeProcess.has("/usr/bin/curl"), "curl is not installed")
        )
        func countedFailure() async throws {
            let lab = try await CommandLab()
            try lab.folder.write("old\n", to: "secret")
            let run = try await ServeProcess.serving(lab, arguments: ["--account", "7:secret"]) { endpoint, process in
                unlink("\(lab.folder.path)/secret")
                kill(process, SIGHUP)
                try await lab.folder.waitForText("the error") { $0.contains("nothing was changed: ") }
                let text = try await ServeProcess.curl(lab, "/metrics", at: endpoint).text
                #expect(text.contains("beeline_server_reload_failures_total 1\n"))
            }
            #expect(run.status == 128 + SIGTERM, "\(run.errors)")
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
                let pipe = try await eventualValue("the server to open the secret", every: .milliseconds(5)) {
                    let pipe = open(secret, O_WRONLY | O_NONBLOCK)
                    return pipe >= 0 ? pipe : nil
                }
                kill(process, SIGHUP)
                try FileManager.default.removeItem(atPath: secret)
                try folder.write("s3cret\n", to: "secret")
                try #require(write(pipe, "s3cret\n", 7) == 7)
                close(pipe)
                try await folder.waitForText("the reload") { $0.contains("were reloaded") }
            }
            #expect(run.text.hasPrefix("listening on http://127.0.0.1:"), "\(run.text)\(run.errors)")
        }
    }
}
