// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Responses that are malformed or unusual, with curl's exit codes and output.
    struct OddResponseTests {
        /// Runs the command against a server that sends the response and keeps the connection open.
        ///
        /// - Returns: the run, and the content of the file `part` after it, which was `0123`.
        private func run(_ response: String, _ line: [String] = []) async throws -> (run: CommandRun, part: String) {
            let gate = Gate()
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(response)
                try await gate.wait()
            }
            let lab = try await CommandLab()
            try lab.folder.write("0123", to: "part")
            let run = try await lab.beeline(["-sS"] + line + ["http://127.0.0.1:\(server.port)/"])
            let part = try lab.folder.text("part")
            gate.open()
            await lab.stop()
            await server.stop()
            return (run, part)
        }

        @Test(
            "a fault in a head has curl's exit code, although the connection stays open",
            .timeLimit(.minutes(1)),
            arguments: [
                ("HTTP/1.1 200 OK\u{0}\r\nContent-Length: 0\r\n\r\n", 8),
                ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLocation: this\r\nLocation: that\r\n\r\n", 8),
                ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLocation: this\r\nLocation: this\r\n\r\n", 0),
                ("HTTP/1.1 100 Continue\r\n\r\nData\nData\n", 8),
                ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \(String(repeating: "x", count: 100 << 10))\r\n\r\n", 100),
            ] as [(String, Int32)]
        )
        func heads(response: String, status: Int32) async throws {
            let (run, _) = try await run(response)
            #expect(run.status == status && run.text == "", "\(run.errors)")
        }

        @Test("a fault in the trailers has exit code 8, and one in the chunks 56", .timeLimit(.minutes(1)))
        func trailers() async throws {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
            let ends: [(String, Int32)] = [
                ("0\r\nX: 7\r\n\r\n", 0), ("0\r\nX: he\u{0}llo\r\n\r\n", 8), ("0\r\nX\r\n\r\n", 8), ("none\r\n", 56),
            ]
            for (end, status) in ends {
                let (run, _) = try await run(head + end)
                #expect(run.status == status, "\(run.errors)")
            }
        }

        @Test("a fault in the trailers has exit code 8 over HTTP/2 too", .timeLimit(.minutes(1)))
        func trailersOverHTTP2() async throws {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(count: RawFrame.preface.count)
                try await connection.send(RawFrame(.settings).bytes)
                _ = try await connection.receiveFrame(where: { $0.kind == .headers })
                let head = RawFrame.headers([(":status", "200")], stream: 1)
                let trailers = RawFrame.headers([(":status", "200")], stream: 1, flags: 5)
                try await connection.send(head.bytes + trailers.bytes)
                _ = try await connection.receiveFrame(where: { $0.kind == .reset })
            }
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-sS", "--http2-prior-knowledge", "http://127.0.0.1:\(server.port)/"])
            #expect(run.status == 8 && run.errors.contains("a trailer field is a pseudo field"), "\(run.errors)")
            await lab.stop()
            await server.stop()
        }

        @Test(
            "trailers that are too large have the exit code of such a head",
            .timeLimit(.minutes(1)),
            arguments: [
                (String(repeating: "X: y\r\n", count: 5_001), 100),
                ("X: \(String(repeating: "x", count: 400 << 10))\r\n", 56),
            ] as [(String, Int32)]
        )
        func largeTrailers(trailers: String, status: Int32) async throws {
            let (run, _) = try await run("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(trailers)\r\n")
            #expect(run.status == status, "\(run.errors)")
        }

        @Test("the transfer coding identity does not change where a body ends", .timeLimit(.minutes(1)))
        func identity() async throws {
            let (run, _) = try await run(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, identity\r\nContent-Length: 2\r\n\r\nhi"
            )
            #expect(run.status == 0 && run.text == "hi", "\(run.errors)")
        }

        @Test("--compressed accepts a body with the coding none", .timeLimit(.minutes(1)))
        func codingNone() async throws {
            let (run, _) = try await run(
                "HTTP/1.1 200 OK\r\nContent-Encoding: none\r\nContent-Length: 2\r\n\r\nhi",
                ["--compressed"]
            )
            #expect(run.status == 0 && run.text == "hi", "\(run.errors)")
        }

        @Test("-C appends a response with status 200 whose Content-Range continues the file", .timeLimit(.minutes(1)))
        func rangeWithStatus200() async throws {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Range: bytes "
            let line = ["-C", "-", "-o", "part"]
            let (fits, whole) = try await run(head + "4-\r\n\r\nhi", line)
            #expect(fits.status == 0 && whole == "0123hi", "\(fits.errors)")
            let (other, part) = try await run(head + "3-\r\n\r\nhi", line)
            #expect(other.status == 33 && part == "0123", "\(other.errors)")
        }

        @Test("-I fails if the file has more bytes than --max-filesize allows, as its download would")
        func headOfLargeFile() async throws {
            let lab = try await CommandLab { _ in .text("12345") }
            for (limit, status) in [("4", 63), ("5", 0)] as [(String, Int32)] {
                let run = try await lab.beeline(["-s", "-I", "--max-filesize", limit, lab.plainURL()])
                #expect(run.status == status && run.text.contains("200"), "\(run.text)")
            }
            await lab.stop()
        }

        @Test("--max-filesize writes nothing of a decoded body that is larger")
        func largeDecodedBody() async throws {
            let lab = try await CommandLab { _ in Reply.bytes(Array(repeating: 0, count: 100_000)).compressed(.gzip) }
            let run = try await lab.beeline(["-s", "--compressed", "--max-filesize", "1000", lab.plainURL()])
            #expect(run.status == 63 && run.output.isEmpty)
            await lab.stop()
        }

        @Test("a field that a server and its proxy both set counts once", .timeLimit(.minutes(1)))
        func repeatedFields() async throws {
            let date = "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT\r\n"
            let name = "Content-Disposition: attachment; filename=named\r\n"
            let server = try await RawServer.start { connection in
                let request = String(decoding: try await connection.receive(until: "\r\n\r\n") ?? [], as: UTF8.self)
                let head =
                    request.hasPrefix("GET /go ")
                    ? "HTTP/1.1 302 Found\r\nLocation: /end\r\nLocation: /end\r\n"
                    : "HTTP/1.1 200 OK\r\n" + date + date + name + name
                try await connection.send(head + "Content-Length: 2\r\nConnection: close\r\n\r\nhi")
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)"
            for line in [["-L", "-w", " %{url_effective}"], ["-w", " %{redirect_url}"]] {
                #expect(try await lab.beeline(["-s"] + line + ["\(url)/go"]).text == "hi \(url)/end")
            }
            #expect(try await lab.beeline(["-s", "-O", "-J", "-R", "\(url)/x"]).status == 0)
            #expect(try lab.folder.text("named") == "hi")
            let values = try FileManager.default.attributesOfItem(atPath: "\(lab.folder.path)/named")
            #expect((values[.modificationDate] as? Date)?.timeIntervalSince1970 == 946_684_800)
            try lab.folder.write("old", to: "kept")
            #expect(try await lab.beeline(["-s", "-z", "1 Jan 2001", "-o", "kept", "\(url)/x"]).status == 0)
            #expect(try lab.folder.text("kept") == "old")
            await lab.stop()
            await server.stop()
        }
    }
}
