// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

extension ProcessTests {
    /// Downloads resume, uploads are streamed, and failed transfers are retried.
    struct DownloadTests {
        private static let whole = (0..<100_000).map { "\($0 % 10)" }.joined()

        /// Serves ``whole``: at `/ranged` by ranges, at `/whole` always from the start, at `/beyond` with the wrong range.
        private static func serve(_ request: ReceivedRequest) -> Reply {
            let start = request.fields[.range].flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) }
            guard request.path != "/whole", let start else { return .text(whole) }
            guard start < whole.count else {
                return Reply(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */\(whole.count)"])
            }
            let first = request.path == "/beyond" ? start + 1 : start
            var reply = Reply.text(String(whole.dropFirst(first)), status: .partialContent)
            reply.fields[.contentRange] = "bytes \(first)-\(whole.count - 1)/\(whole.count)"
            return reply
        }

        @Test("--compressed decodes also with the user's own Accept-Encoding, and with a range")
        func compressedWithOwnFields() async throws {
            let lab = try await CommandLab { request in
                var reply = Reply.text("plain text").compressed(.gzip)
                if request.fields[.range] != nil { reply.status = .partialContent }
                return reply
            }
            for (options, offer) in [(["-H", "Accept-Encoding: gzip"], "gzip"), (["-r", "0-99"], nil)]
                as [([String], String?)]
            {
                let run = try await lab.beeline(["-s", "--compressed"] + options + [lab.plainURL()])
                #expect(run.status == 0 && run.text == "plain text", "\(options): \(run.errors)")
                let sent = lab.plain.requests.last?.fields[.acceptEncoding]
                #expect(offer.map { sent == $0 } ?? (sent?.contains("gzip") == true))
                // Without --compressed the body stays as received.
                let raw = try await lab.beeline(["-s"] + options + [lab.plainURL()])
                #expect(raw.status == 0 && raw.output.first == 0x1f, "\(options): \(raw.errors)")
            }
            await lab.stop()
        }

        @Test func goesOnWhereItStopped() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            try lab.folder.write(String(Self.whole.prefix(40_000)), to: "part")
            let run = try await lab.beeline(["-C", "-", "-o", "part", lab.plainURL("/ranged")])
            #expect(run.status == 0 && run.errors == "")
            #expect(lab.plain.requests[0].fields[.range] == "bytes=40000-")
            #expect(try lab.folder.text("part") == Self.whole)

            // The file is complete: nothing is downloaded, and there is no error.
            let again = try await lab.beeline(["-C", "-", "-o", "part", lab.plainURL("/ranged")])
            #expect(again.status == 0)
            #expect(try lab.folder.text("part") == Self.whole)

            // The file is missing: the whole is downloaded without a range.
            #expect(try await lab.beeline(["-C", "-", "-o", "new", lab.plainURL("/ranged")]).status == 0)
            #expect(lab.plain.requests[2].fields[.range] == nil)
            #expect(try lab.folder.text("new") == Self.whole)
            await lab.stop()
        }

        @Test func aRetryFromAGivenByteAppendsNothingTwice() async throws {
            let tries = NIOLockedValueBox(0)
            let gate = Gate()
            let lab = try await CommandLab { request in
                var reply = Self.serve(request)
                let isFirst = tries.withLockedValue { tries in
                    tries += 1
                    return tries == 1
                }
                if isFirst {
                    let rest = Array(Self.whole.utf8.dropFirst(40_000))
                    reply.fields[.contentLength] = "\(rest.count)"
                    reply.body = [
                        .bytes(Array(rest.prefix(20_000))), .wait(gate), .bytes(Array(rest.dropFirst(20_000))),
                    ]
                }
                return reply
            }
            try lab.folder.write(String(Self.whole.prefix(40_000)), to: "part")
            let url = lab.plainURL("/ranged")
            let run = try await lab.beeline(["-C", "40000", "-m", "1", "--retry", "2", "-o", "part", url])
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.map { $0.fields[.range] } == ["bytes=40000-", "bytes=40000-"])
            #expect(try lab.folder.text("part") == Self.whole)
            gate.open()
            await lab.stop()
        }

        @Test func aServerWithoutRangesLeavesTheFileAsItIs() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            try lab.folder.write("something else", to: "part")
            let run = try await lab.beeline(["-C", "-", "-o", "part", lab.plainURL("/whole")])
            #expect(run.status == 33 && run.errors.contains("cannot resume"), "\(run.errors)")
            #expect(try lab.folder.text("part") == "something else")
            await lab.stop()
        }

        @Test func whatDoesNotFitIsNotAdded() async throws {
            let lab = try await CommandLab { request in
                request.path == "/error" ? .text("broken", status: .internalServerError) : Self.serve(request)
            }
            for (path, status) in [("/beyond", 33), ("/error", 33)] as [(String, Int32)] {
                try lab.folder.write("0123", to: "part")
                let run = try await lab.beeline(["-C", "-", "-o", "part", lab.plainURL(path)])
                #expect(run.status == status, "\(path): \(run.errors)")
                #expect(try lab.folder.text("part") == "0123")
            }
            try lab.folder.write(Self.whole + "more", to: "long")
            let run = try await lab.beeline(["-C", "-", "-o", "long", lab.plainURL("/ranged")])
            #expect(run.status == 33 && run.errors.contains("only 100000"), "\(run.errors)")
            await lab.stop()
        }

        @Test func whatMayPassIsTriedAgain() async throws {
            let lab = try await CommandLab { request in
                let count = Int(request.query["n"] ?? "") ?? 0
                return request.connection.number <= count
                    ? Reply(status: .serviceUnavailable, body: ["not yet"], ending: .close) : .text("now")
            }
            let line = ["--retry", "3", "--retry-delay", "0.01", "-w", "|%{num_retries}"]
            let run = try await lab.beeline(line + [lab.plainURL("/?n=2")])
            #expect(
                run.status == 0 && run.text == "not yetnot yetnow|2" && run.errors.contains("retrying in"),
                "\(run.errors)"
            )
            let post = try await lab.beeline(line + ["-d", "x", lab.plainURL("/?n=4")])
            #expect(post.text == "not yetnow|1")
            #expect(lab.plain.requests.suffix(2).map(\.text) == ["x", "x"])
            // A body that can be read only once is not sent again.
            let stream = try await lab.beeline(line + ["-T", "-", lab.plainURL("/up?n=99")], input: Data("x".utf8))
            #expect(stream.text == "not yet|0")
            await lab.stop()
        }

        @Test func largeBodiesGoBothWays() async throws {
            let lab = try await CommandLab { request in
                request.method == .put ? .text("\(request.bodySize)") : Reply(body: [.zeros(64 << 20)])
            }
            let line = """
                head -c \(64 << 20) /dev/zero | \(CommandRun.beeline) -T - \(lab.plainURL("/up")) -o sent
                \(CommandRun.beeline) -o got -w '%{size_download}' \(lab.plainURL("/down"))
                """
            let run = try await CommandRun.run("/bin/bash", ["-c", line], in: lab.folder)
            #expect(run.text == "\(64 << 20)" && run.errors == "", "\(run.errors)")
            #expect(try lab.folder.text("sent") == "\(64 << 20)")
            #expect(try lab.folder.data("got").count == 64 << 20)
            await lab.stop()
        }

        @Test func aFormsFilesAreStreamed() async throws {
            let lab = try await CommandLab { .text("\($0.bodySize) \($0.fields[.contentLength] ?? "")") }
            try lab.folder.write(Data(count: 3 << 20), to: "large.bin")
            let run = try await lab.beeline([
                "-F", "f=@large.bin", "-F", "x=y", "-w", " %{size_upload}", lab.plainURL(),
            ])
            let sizes = run.text.split(separator: " ").compactMap { Int($0) }
            #expect(run.status == 0 && sizes.count == 3 && Set(sizes).count == 1 && sizes[0] > 3 << 20, "\(run)")
            await lab.stop()
        }
    }
}
