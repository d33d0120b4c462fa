// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

extension ProcessTests {
    /// Resumed and retried transfers whose server answers with anything but the expected range.
    struct ResumeFaultTests {
        private static let again = ["-s", "-S", "--retry", "2", "--retry-all-errors", "--retry-delay", "0.01"]

        /// A lab whose server sends these replies, one for each request; the last one repeats.
        private static func lab(_ replies: Reply...) async throws -> CommandLab {
            let count = NIOLockedValueBox(0)
            return try await CommandLab { _ in
                let index = count.withLockedValue { count in
                    defer { count += 1 }
                    return count
                }
                return replies[min(index, replies.count - 1)]
            }
        }

        /// The first half of `0123456789`, in a body that breaks off.
        private static func half(_ tag: String? = nil) -> Reply {
            let reply = Reply(
                fields: [.contentLength: "10", .acceptRanges: "bytes"],
                body: ["01234"],
                ending: .hangUp
            )
            return tag.map { reply.adding(.eTag, $0) } ?? reply
        }

        private static func rest(_ text: String = "56789", _ tag: String? = nil) -> Reply {
            let reply = Reply.text(text, status: .partialContent).adding(.contentRange, "bytes 5-9/10")
            return tag.map { reply.adding(.eTag, $0) } ?? reply
        }

        @Test(
            "as in curl, -C accepts a response that has no body: 304, 204, 302, and any to -I",
            arguments: [304, 204, 302, 200]
        )
        func noBodyIsNoRangeFailure(_ status: Int) async throws {
            let lab = try await CommandLab { request in
                request.path == "/body" ? .text("moved", status: .found) : .status(.init(code: status))
            }
            try lab.folder.write("0123", to: "part")
            let line = ["-s", "-S", "-C", "-", "-o", "part"]
            let run = try await lab.beeline(line + (status == 200 ? ["-I"] : []) + [lab.plainURL()])
            #expect(run.status == 0 && run.errors == "", "\(run.errors)")
            #expect(lab.plain.requests.last?.fields[.range] == "bytes=4-")
            if status != 200 { #expect(try lab.folder.text("part") == "0123") }
            #expect(try await lab.beeline(line + [lab.plainURL("/body")]).status == 33)
            await lab.stop()
        }

        @Test("-C sends no POST from an offset on, and a retry of -C - fetches the response to a POST from its start")
        func aPostIsNotResumed() async throws {
            let lab = try await CommandLab { _ in .text("done") }
            try lab.folder.write("0123", to: "part")
            for (offset, body) in [("-", "-d"), ("3", "-d"), ("-", "-F")] {
                let run = try await lab.beeline(["-s", "-S", "-C", offset, "-o", "part", body, "a=b", lab.plainURL()])
                #expect(run.status == 64 && run.errors.contains("-C excludes -d and -F"), "\(run.errors)")
            }
            #expect(lab.plain.requests.isEmpty)
            #expect(try lab.folder.text("part") == "0123")
            let run = try await lab.beeline(["-s", "-C", "-", "-o", "new", "-d", "a=b", lab.plainURL()])
            #expect(run.status == 0 && lab.plain.requests.last?.method == .post, "\(run.errors)")
            await lab.stop()
            let moved = try await Self.lab(
                .redirect(to: "/end", status: .seeOther),
                Self.half(),
                .redirect(to: "/end", status: .seeOther),
                .text("0123456789")
            )
            let line = Self.again + ["-L", "-C", "-", "-o", "out", "-d", "a=b", moved.plainURL()]
            let again = try await moved.beeline(line)
            #expect(again.status == 0, "\(again.errors)")
            #expect(moved.plain.requests.map { $0.fields[.range] } == [nil, nil, nil, nil])
            #expect(try moved.folder.text("out") == "0123456789")
            await moved.stop()
        }

        @Test("a retry of -C - sends the ETag of its bytes, and replaces them if the resource has changed")
        func aRetryDoesNotJoinTwoVersions() async throws {
            let lab = try await Self.lab(Self.half("\"v1\""), Reply.text("ABCDEFGHIJ").adding(.eTag, "\"v2\""))
            let run = try await lab.beeline(Self.again + ["-C", "-", "-o", "out", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.map { $0.fields[.ifRange] } == [nil, "\"v1\""])
            #expect(lab.plain.requests.last?.fields[.range] == "bytes=5-")
            #expect(try lab.folder.text("out") == "ABCDEFGHIJ")
            await lab.stop()
        }

        @Test("a retry of -C - appends no range with another ETag, and no version to bytes of an earlier command")
        func anotherVersionIsNotAppended() async throws {
            let other = try await Self.lab(Self.half("\"v1\""), Self.rest("FGHIJ", "\"v2\""))
            let run = try await other.beeline(Self.again + ["-C", "-", "-o", "out", other.plainURL()])
            #expect(run.status == 33 && run.errors.contains("changed"), "\(run.errors)")
            #expect(try other.folder.text("out") == "01234")
            await other.stop()
            var second = Self.half("\"v1\"")
            (second.status, second.fields[.contentRange]) = (.partialContent, "bytes 2-11/12")
            let older = try await Self.lab(second, .text("ABCDEFGHIJKL"))
            try older.folder.write("xx", to: "out")
            #expect(try await older.beeline(Self.again + ["-C", "-", "-o", "out", older.plainURL()]).status == 33)
            #expect(try older.folder.text("out") == "xx01234")
            await older.stop()
        }

        @Test("without an ETag, a whole response does not replace the bytes of a failed attempt, as in curl")
        func aWholeResponseProvesNothing() async throws {
            let lab = try await Self.lab(Self.half(), .text("something else"), Self.rest())
            let run = try await lab.beeline(Self.again + ["-C", "-", "-o", "out", lab.plainURL()])
            #expect(run.status == 0 && lab.plain.requests.last?.fields[.range] == "bytes=5-", "\(run.errors)")
            #expect(try lab.folder.text("out") == "0123456789")
            await lab.stop()
        }

        @Test("a weak ETag is not sent as If-Range")
        func aWeakTagProvesNothing() async throws {
            let lab = try await Self.lab(Self.half("W/\"v1\""), Self.rest())
            let run = try await lab.beeline(Self.again + ["-C", "-", "-o", "out", lab.plainURL()])
            #expect(run.status == 0 && lab.plain.requests.last?.fields[.ifRange] == nil, "\(run.errors)")
            #expect(try lab.folder.text("out") == "0123456789")
            await lab.stop()
        }

        @Test("a retry of -C - with --compressed starts anew, because a range counts encoded bytes")
        func decodedBytesAreNoOffset() async throws {
            let text = (0..<50_000).map { "\($0) " }.joined()
            let whole = Reply.text(text).compressed(.gzip)
            var cut = whole.adding(.acceptRanges, "bytes").adding(.contentLength, "9999999")
            cut.ending = .hangUp
            let lab = try await Self.lab(cut, whole)
            let run = try await lab.beeline(Self.again + ["--compressed", "-C", "-", "-o", "out", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.map { $0.fields[.range] } == [nil, nil])
            #expect(try lab.folder.text("out") == text)
            await lab.stop()
        }

        @Test("status 416 without a size does not complete a file that a failed attempt left")
        func aRefusedRangeIsNotTheEnd() async throws {
            let lab = try await Self.lab(Self.half(), .status(.rangeNotSatisfiable))
            let run = try await lab.beeline(Self.again + ["-C", "-", "-o", "out", lab.plainURL()])
            #expect(run.status == 33 && run.errors.contains("cannot resume at byte 5"), "\(run.errors)")
            // Without a failed attempt, the file may be complete, and curl assumes it.
            try lab.folder.write("0123456789", to: "whole")
            #expect(try await lab.beeline(["-s", "-C", "-", "-o", "whole", lab.plainURL()]).status == 0)
            await lab.stop()
        }

        @Test("a resume that a busy server refuses for a moment is retried")
        func aBusyServerIsAskedAgain() async throws {
            let lab = try await Self.lab(.text("busy", status: .serviceUnavailable), Self.rest())
            let line = ["-s", "-S", "--retry", "1", "--retry-delay", "0.01", "-C", "5", lab.plainURL()]
            let run = try await lab.beeline(line)
            #expect(run.status == 0 && run.text == "56789", "\(run.errors)")
            await lab.stop()
        }

        @Test("the body of a response that is retried does not replace the file, which status 304 then confirms")
        func aRetriedResponseLeavesTheFile() async throws {
            let lab = try await Self.lab(.text("busy", status: .serviceUnavailable), .status(.notModified))
            try lab.folder.write("before", to: "out")
            let line = ["-s", "-S", "--retry", "1", "--retry-delay", "0.01", "-o", "out"]
            let run = try await lab.beeline(line + [lab.plainURL()])
            #expect(run.status == 0 && lab.plain.requests.count == 2, "\(run.errors)")
            #expect(try lab.folder.text("out") == "before")
            await lab.stop()
            // The last response is written, whatever its status is.
            let busy = try await CommandLab { _ in .text("busy", status: .serviceUnavailable) }
            #expect(try await busy.beeline(line + [busy.plainURL()]).status == 0)
            #expect(try busy.folder.text("out") == "busy" && busy.plain.requests.count == 2)
            await busy.stop()
        }

        @Test("--max-filesize counts the bytes that a failed attempt left")
        func theLimitIsOfTheWholeFile() async throws {
            let head = "HTTP/1.1 200 OK\r\nAccept-Ranges: bytes\r\nTransfer-Encoding: chunked\r\n\r\n"
            let lab = try await Self.lab(.raw(.text(head + "5\r\n01234\r\n"), ending: .hangUp), Self.rest())
            let line = ["--max-filesize", "8", "-C", "-", "-o", "out", lab.plainURL()]
            let run = try await lab.beeline(Self.again + line)
            #expect(run.status == 63, "\(run.status) \(run.errors)")
            #expect(try lab.folder.data("out").count <= 8)
            await lab.stop()
        }

        @Test("--etag-save does not save the ETag of a body that breaks off")
        func theTagFollowsTheBody() async throws {
            let lab = try await Self.lab(Self.half("\"v1\""), Reply.text("0123456789").adding(.eTag, "\"v1\""))
            let line = ["-s", "-o", "out", "--etag-save", "tag", "--etag-compare", "tag", lab.plainURL()]
            #expect(try await lab.beeline(line).status == 18)
            #expect(try lab.folder.text("tag") == "")
            #expect(try await lab.beeline(line).status == 0)
            #expect(try lab.folder.text("tag") == "\"v1\"\n")
            #expect(lab.plain.requests.map { $0.fields[.ifNoneMatch] } == ["\"\"", "\"\""])
            await lab.stop()
        }

        @Test("-C with -T: a missing file, standard input from its start, and a body without its length")
        func resumedUploads() async throws {
            let lab = try await CommandLab { .text("\($0.fields[.contentRange] ?? "-") \($0.text)") }
            let url = lab.plainURL("/up")
            for options in [["-C", "-"], ["-C", "4"], ["-0"]] {
                let run = try await lab.beeline(options + ["-T", "missing", url])
                #expect(run.status == 26 && run.errors.contains("missing"), "\(options): \(run.errors)")
            }
            let input = try await lab.beeline(["-s", "-C", "-", "-T", "-", url], input: Data("piped".utf8))
            #expect(input.status == 0 && input.text == "- piped", "\(input.text)")
            #expect(try await lab.beeline(["-C", "4", "-T", "-", url]).status == 26)
            try lab.folder.write("0123456789", to: "file")
            let chunked = try await lab.beeline([
                "-s", "-C", "4", "-T", "file", "-H", "Transfer-Encoding: chunked", url,
            ])
            #expect(chunked.text == "bytes 4-9/10 456789", "\(chunked.text)")
            let old = try await lab.beeline(["-0", "-T", "file", "-H", "Transfer-Encoding: chunked", url])
            #expect(old.status == 25, "\(old.errors)")
            await lab.stop()
        }
    }
}
