// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Requests without a response.
    struct MissingResponseTests {
        @Test("an error without a response names the URL, and -v shows the request", .timeLimit(.minutes(1)))
        func requestsAreShown() async throws {
            let folder = try Folder()
            let rows: [(answer: String?, line: [String], status: Int32)] = [
                ("", [], 52), ("HTTP/1.1 200 OK\r\nContent-Le", [], 18), (nil, ["-m", "0.5"], 28),
            ]
            for (answer, line, status) in rows {
                let server = try await RawServer.start { connection in
                    _ = try await connection.receive(until: "\r\n\r\n")
                    guard let answer else { return try await connection.hold() }
                    try await connection.send(answer)
                }
                let url = "http://127.0.0.1:\(server.port)/there?x"
                let run = try await CommandRun.run(
                    CommandRun.beeline,
                    ["-v", "-u", "me:s3cret"] + line + [url],
                    in: folder
                )
                #expect(run.status == status, "\(run.errors)")
                let lines = run.errors.split(separator: "\n").map(String.init)
                #expect(lines.contains { $0.hasPrefix("beeline: (\(status)) \(url): ") }, "\(run.errors)")
                #expect(lines.contains("* 127.0.0.1:\(server.port) connected"), "\(run.errors)")
                #expect(lines.contains("> GET /there?x") && lines.contains("> Host: 127.0.0.1:\(server.port)"))
                #expect(lines.contains("> Authorization: Basic …"), "\(run.errors)")
                await server.stop()
            }
        }

        @Test("errors name the command's options, not names of the library")
        func optionsInMessages() async throws {
            let lab = try await CommandLab { _ in .redirect(to: "/there", status: .temporaryRedirect) }
            let input = Data("body".utf8)
            let upload = ["-s", "-S", "-L", "-H", "Expect:", "-T", "-", lab.plainURL("/x")]
            let body = try await lab.beeline(upload, input: input)
            #expect(body.status == 65 && body.errors.contains("send it from a file"), "\(body.errors)")
            // The alert protocol_version (RFC 8446 §6.2).
            let alert: [UInt8] = [0x15, 0x03, 0x03, 0, 2, 2, 70]
            let old = try await RawServer.start { connection in
                _ = try await connection.receive()
                try await connection.send(alert)
            }
            let version = try await lab.beeline(["-v", "https://127.0.0.1:\(old.port)/"])
            #expect(version.status == 35 && version.errors.contains("see --tlsv1.0 and --tls-max"), "\(version.errors)")
            for run in [body, version] {
                for name in ["RequestBody", "TLSSettings"] { #expect(!run.errors.contains(name), "\(run.errors)") }
            }
            await old.stop()
            await lab.stop()
        }

        @Test("a server that closes during the TLS handshake is explained in words", .timeLimit(.minutes(1)))
        func noTLS() async throws {
            let server = try await RawServer.start { connection in _ = try await connection.receive() }
            let run = try await CommandRun.run(
                CommandRun.beeline,
                ["https://127.0.0.1:\(server.port)/"],
                in: try Folder()
            )
            let words = "failed the TLS handshake: the server closed the connection; it may not use TLS on this port"
            #expect(run.status == 35 && run.errors.contains(words) && !run.errors.contains("NIOSSL"), "\(run.errors)")
            await server.stop()
        }

        @Test("an empty name of -o fails before anything is sent")
        func emptyOutputName() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let run = try await lab.beeline(["-s", "-S", "-o", "a", "-o", "", lab.plainURL("/1"), lab.plainURL("/2")])
            #expect(run.status == 23 && run.errors.contains("-o: the name"), "\(run.errors)")
            #expect(lab.plain.requests.isEmpty)
            await lab.stop()
        }
    }
}
