// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    @Suite("Heads and trailers as curl prints them")
    struct RawHeadTests {
        private static let early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
        private static let head = "HTTP/1.1 200 fine\r\nX-one:1\r\nTransfer-Encoding: chunked\r\n\r\n"

        @Test("-i and -D print informational responses, the head as received, and trailers behind the body")
        func everything() async throws {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(Self.early + Self.head + "2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n")
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)/"
            let run = try await lab.beeline(["-s", "-i", "-D", "heads", "-w", "%{size_header}", url])
            #expect(run.status == 0, "\(run.errors)")
            let heads = Self.early + Self.head
            #expect(run.text == heads + "okX-Sum: 7\r\n\(heads.utf8.count)")
            #expect(try lab.folder.text("heads") == heads + "X-Sum: 7\r\n")
            await lab.stop()
            await server.stop()
        }

        @Test("-i and -D print a folded field on one line, and the size is that of the head as received")
        func foldedFields() async throws {
            let start = "HTTP/1.1 200 OK\r\nServer: a/ \r\n fake\r\n folded\r\nTabs: b/\t\r\n\tonly\r\n\t mixed\r\n"
            let head = start + "Content-Length: 2\r\nConnection:   \r\n   close\r\n\r\n"
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(head + "ok")
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)/"
            let run = try await lab.beeline(["-s", "-i", "-D", "heads", "-w", "%{size_header}", url])
            let lines = "HTTP/1.1 200 OK\r\nServer: a/ fake folded\r\nTabs: b/ only mixed\r\n"
            let shown = lines + "Content-Length: 2\r\nConnection: close\r\n\r\n"
            #expect(run.text == shown + "ok\(head.utf8.count)", "\(run.errors)")
            #expect(try lab.folder.text("heads") == shown)
            await lab.stop()
            await server.stop()
        }

        @Test("-i -D - prints each line of the heads and trailers twice in a row, and the body once")
        func bothOnStandardOutput() async throws {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(Self.early + Self.head + "2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n")
            }
            let lab = try await CommandLab()
            let line = ["-s", "-i", "-D", "-", "http://127.0.0.1:\(server.port)/"]
            let twice = { (lines: String) -> String in
                lines.components(separatedBy: "\r\n").dropLast().map { "\($0)\r\n\($0)\r\n" }.joined()
            }
            let run = try await lab.beeline(line)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.text == twice(Self.early + Self.head) + "ok" + twice("X-Sum: 7\r\n"))
            let file = try await lab.beeline(line + ["-o", "out"])
            #expect(file.text == Self.early + Self.head + "X-Sum: 7\r\n", "\(file.errors)")
            #expect(try lab.folder.text("out") == Self.early + Self.head + "okX-Sum: 7\r\n")
            await lab.stop()
            await server.stop()
        }

        @Test("-i prints the heads up to those that exceed 4 MiB in all, and with -D - each line twice")
        func tooManyHeads() async throws {
            let field = "X: " + String(repeating: "a", count: 99_000)
            let head = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\(field)\r\n\r\n"
            let server = try await RawServer.start { connection in
                while try await connection.receive(until: "\r\n\r\n") != nil { try await connection.send(head) }
            }
            let lab = try await CommandLab()
            let line = ["-s", "-S", "-L", "--max-redirs", "45", "http://127.0.0.1:\(server.port)/"]
            let size = (4 << 20) / head.utf8.count * head.utf8.count
            for (options, expected) in [(["-i"], size), (["-D", "-"], size), (["-i", "-D", "-"], 2 * size)] {
                let run = try await lab.beeline(options + line)
                #expect(run.errors.contains("the response heads have more than"), "\(run.errors)")
                #expect(run.text.utf8.count == expected)
            }
            await lab.stop()
            await server.stop()
        }

        @Test("-i prints the heads of each try")
        func retries() async throws {
            let busy = "HTTP/1.1 503 busy\r\nContent-Length: 0\r\n\r\n"
            let fine = "HTTP/1.1 200 fine\r\nContent-Length: 2\r\n\r\n"
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(busy)
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(fine + "ok")
            }
            let lab = try await CommandLab()
            let line = ["-s", "--retry", "1", "--retry-delay", "0.01", "-i", "http://127.0.0.1:\(server.port)/"]
            let run = try await lab.beeline(line)
            #expect(run.status == 0 && run.text == busy + fine + "ok", "\(run.errors)")
            let file = try await lab.beeline(line + ["-o", "out", "-D", "heads"])
            #expect(file.status == 0, "\(file.errors)")
            #expect(try lab.folder.text("out") == busy + fine + "ok")
            #expect(try lab.folder.text("heads") == busy + fine)
            await lab.stop()
            await server.stop()
        }

        @Test("-i prints the lines before the fault of a head that is malformed or breaks off")
        func brokenHeads() async throws {
            let lines = "HTTP/1.1 200 fine\r\nX: 1\r\n"
            for (rest, status) in [("Content-Length: -6\r\n\r\n", 8), ("Y: ", 18)] as [(String, Int32)] {
                let server = try await RawServer.start { connection in
                    _ = try await connection.receive(until: "\r\n\r\n")
                    try await connection.send(lines + rest)
                }
                let lab = try await CommandLab()
                let run = try await lab.beeline(["-s", "-i", "http://127.0.0.1:\(server.port)/"])
                #expect(run.status == status && run.text == lines, "\(run.status) \(run.text)")
                await lab.stop()
                await server.stop()
            }
        }

        @Test("--raw writes chunks and trailers as received")
        func raw() async throws {
            let body = "2;a=b\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(Self.head + body)
            }
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-s", "--raw", "http://127.0.0.1:\(server.port)/"])
            #expect(run.status == 0 && run.text == body, "\(run.errors)")
            await lab.stop()
            await server.stop()
        }

        @Test("-i prints the head of an error response that -f makes a failure")
        func failedStatus() async throws {
            let lab = try await CommandLab { _ in .text("gone", status: .notFound) }
            let run = try await lab.beeline(["-s", "-f", "-i", lab.plainURL()])
            #expect(run.status == 22 && run.text.hasPrefix("HTTP/1.1 404") && run.text.hasSuffix("\r\n\r\n"))
            await lab.stop()
        }

        @Test("heads without an end are an error and do not fill memory")
        func endlessHeads() async throws {
            let head = "HTTP/1.1 302 x\r\nLocation: /\r\nX: \(String(repeating: "y", count: 60_000))\r\n"
            let server = try await RawServer.start { connection in
                while try await connection.receive(until: "\r\n\r\n") != nil {
                    try await connection.send(head + "Content-Length: 0\r\n\r\n")
                }
            }
            let lab = try await CommandLab()
            let line = ["-s", "-L", "--max-redirs", "100", "-i", "http://127.0.0.1:\(server.port)/"]
            let run = try await lab.beeline(line)
            #expect(run.status == 63, "\(run.errors)")
            await lab.stop()
            await server.stop()
        }

        @Test("-i and -D print the heads of a request that fails later, and of each try")
        func failure() async throws {
            let moved = "HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(moved)
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)/"
            let line = ["-s", "-L", "-i", "-D", "heads", "-o", "out", url]
            let run = try await lab.beeline(line)
            #expect(run.status == 7, "\(run.errors)")
            #expect(try lab.folder.text("out") == moved)
            #expect(try lab.folder.text("heads") == moved)
            await lab.stop()
            await server.stop()
        }
    }
}
