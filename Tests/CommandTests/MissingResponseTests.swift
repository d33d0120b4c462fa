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
    }
}
