// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

extension ProcessTests {
    /// The variables of `-w` for transfers with several requests, and for bodies that were not sent.
    struct WriteOutOfRunsTests {
        @Test func aChallengeIsNoRedirect() async throws {
            let lab = try await CommandLab { request in
                guard request.path == "/end" else { return .redirect(to: "/end") }
                return request.fields[.authorization] != nil
                    ? .text("in")
                    : Reply(status: .unauthorized, fields: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"n\""])
            }
            let format = "%{http_code} %{num_redirects}"
            let options = ["-s", "-o", "out", "--digest", "-u", "me:x", "-L", "-w", format]
            #expect(try await lab.beeline(options + [lab.plainURL("/end")]).text == "200 0")
            #expect(try await lab.beeline(options + [lab.plainURL("/start")]).text == "200 1")
            await lab.stop()
        }

        @Test func aFileThatNobodyWantedWasNotSent() async throws {
            let lab = try await CommandLab { .text("\($0.bodySize)") }
            let server = try await LoopbackOrigin.start(head: { _ in .text("no", status: .forbidden) }) { _ in .text("")
            }
            try lab.folder.write(String(repeating: "x", count: 100_000), to: "file")
            let options = ["-s", "-o", "out", "-T", "file", "-w", "%{http_code} %{size_upload}"]
            #expect(try await lab.beeline(options + [lab.plainURL("/f")]).text == "200 100000")
            let refused = options + ["-H", "Expect: 100-continue", "http://\(server.endpoint)/f"]
            #expect(try await lab.beeline(refused).text == "403 0")
            await server.stop()
            await lab.stop()
        }

        @Test("%{errormsg} of -f has the words of curl, and the error line those of this command")
        func messageOfStatus() async throws {
            let lab = try await CommandLab { _ in .text("no", status: .notFound) }
            for option in ["-f", "--fail-with-body"] {
                let run = try await lab.beeline(
                    ["-sS", option, "-o", "out", "-w", "%{errormsg}", lab.plainURL("/x")]
                )
                #expect(run.status == 22 && run.text == "The requested URL returned error: 404", "\(run.text)")
                #expect(run.errors == "beeline: (22) \(lab.plainURL("/x")) answered 404\n")
            }
            await lab.stop()
        }

        @Test func aSOCKSProxyThatRefusesHasItsOwnCode() async throws {
            let proxy = try await ProxyServer.start(.socks5, credentials: "me:secret") { _, port in
                Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
            }
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-s", "-x", "socks5h://\(proxy.endpoint)", lab.plainURL("/echo")])
            #expect(run.status == 97)
            await lab.stop()
            await proxy.stop()
        }

        @Test("%{remote_ip}, -v and --report have the path of a Unix socket, which has no address")
        func placeOfUnixSocket() async throws {
            let daemon = try await UnixSocketServer.start()
            let lab = try await CommandLab()
            let run = try await lab.beeline(
                ["-s", "-v", "--unix-socket", daemon.path, "-o", "out", "-w", "%{remote_ip}", "http://daemon.test/x"]
            )
            #expect(run.status == 0 && run.text == daemon.path, "\(run.text)")
            #expect(run.errors.contains("Connected to \(daemon.path) for http://daemon.test,"), "\(run.errors)")
            let reported = try await lab.beeline(
                ["--report", "--unix-socket", daemon.path, "-o", "out", "http://daemon.test/x"]
            )
            let place = "\"endpoint\":\"\(daemon.path)\""
            #expect(reported.errors.split(separator: place).count == 3, "\(reported.errors)")
            await lab.stop()
            try await daemon.stop()
        }

        @Test("a name that DNS cannot encode has code 6; a SOCKS5 proxy gets it up to 255 octets, and more has code 97")
        func longNames() async throws {
            let proxy = try await ProxyServer.start(.socks5) { _, port in
                Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
            }
            let lab = try await CommandLab { _ in .text("ok") }
            let line = ["-s", "-x", "socks5h://\(proxy.endpoint)"]
            let url = { (length: Int) in "http://\(String(repeating: "c", count: length)):\(lab.plain.port)/" }
            for (length, status) in [(254, 0), (255, 0), (256, 97), (1_024, 97), (1_025, 3)] as [(Int, Int32)] {
                let run = try await lab.beeline(line + [url(length)])
                #expect(run.status == status && run.text == (status == 0 ? "ok" : ""), "\(length): \(run.errors)")
            }
            #expect(lab.plain.requests.first?.authority == String(url(254).dropFirst(7).dropLast()))
            for url in [url(64), url(1_024), "http://\(String(repeating: "c", count: 64)).test/"] {
                let run = try await lab.beeline(lab.names + ["-s", url])
                #expect(run.status == 6, "\(url): \(run.errors)")
            }
            #expect(lab.upstream.queries.isEmpty)
            await lab.stop()
            await proxy.stop()
        }
    }
}
