// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

extension ProcessTests {
    /// Several transfers of one command line, conditions, limits, and the files that they write.
    struct TransferSetTests {
        private static func serve(_ request: ReceivedRequest) -> Reply {
            switch request.path {
            case "/named": .text("named").adding(.contentDisposition, "attachment; filename=\"../given.txt\"")
            case "/dated":
                .text("dated").adding(.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT").adding(.eTag, "\"e1\"")
            case "/missing": .text("gone", status: .notFound)
            default: .text("\(request.path)\n")
            }
        }

        @Test func patternsNextAndFilesOfOptionsMakeTransfers() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            try lab.folder.write("silent\nurl = \(lab.plainURL("/k"))\nnext\n", to: "options")
            let line = ["-K", "options", lab.plainURL("/{a,b}"), "-o", "#1.txt", "--next", "-I", lab.plainURL("/h")]
            let run = try await lab.beeline(line)
            #expect(run.status == 0 && run.text.hasPrefix("/k\nHTTP/1.1 200"), "\(run.errors)")
            #expect(
                lab.plain.requests.map { "\($0.method.rawValue) \($0.path)" } == [
                    "GET /k", "GET /a", "GET /b", "HEAD /h",
                ]
            )
            #expect(try lab.folder.text("a.txt") == "/a\n" && lab.folder.text("b.txt") == "/b\n")
            #expect(Set(lab.plain.requests.map(\.connection.number)).count == 1)
            await lab.stop()
        }

        @Test func theLastTransferDecidesTheExitCode() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let (bad, good) = ("foo://x/", lab.plainURL("/ok"))
            #expect(try await lab.beeline(["-s", bad, good]).status == 0)
            #expect(try await lab.beeline(["-s", good, bad]).status == 1)
            let early = try await lab.beeline(["-s", "--fail-early", bad, good])
            #expect(early.status == 1 && early.text == "")
            #expect(try await lab.beeline(["-s", "-Z", bad, good, good]).status == 1)
            await lab.stop()
        }

        @Test("parts share a connection although one has a rule of --connect-to that leads to the URL's own place")
        func connectToOfTheSamePlace() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let (url, port) = (lab.plainURL("/x"), lab.plain.port)
            func line(_ rule: String) -> [String] {
                let part = ["-w", "%{num_connects}", "-o", "out", url]
                return ["-s"] + part + ["--next", "--connect-to", rule] + part + ["--next"] + part
            }
            let same = try await lab.beeline(line("::127.0.0.1:\(port)"))
            #expect(same.status == 0 && same.text == "100", "\(same.text)\(same.errors)")
            let other = try await lab.beeline(line("::127.0.0.2:\(port)"))
            #expect(other.status == 0 && other.text == "110", "\(other.text)\(other.errors)")
            await lab.stop()
        }

        @Test func transfersRunAtTheSameTime() async throws {
            let gate = Gate()
            let lab = try await CommandLab { request in
                Reply(body: [.bytes(Array("\(request.path)\n".utf8)), .wait(gate)])
            }
            let line = ["-s", "-Z", "--parallel-max", "3", lab.plainURL("/[1-3]"), "-o", "#1"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: lab.folder) { _ in
                try await gate.arrivals(atLeast: 3)
                gate.open()
            }
            #expect(run.status == 0, "\(run.errors)")
            for name in ["1", "2", "3"] { #expect(try lab.folder.text(name) == "/\(name)\n") }
            await lab.stop()
        }

        @Test("--parallel-max-host lets so many transfers of -Z to one origin run at a time, and the others wait")
        func parallelMaxHost() async throws {
            let (gate, running) = (Gate(), NIOLockedValueBox((now: 0, most: 0)))
            let lab = try await CommandLab { request in
                guard request.path != "/other" else { return .text("other") }
                running.withLockedValue { ($0.now, $0.most) = ($0.now + 1, max($0.most, $0.now + 1)) }
                defer { running.withLockedValue { $0.now -= 1 } }
                try await gate.wait()
                return .text("\(request.path)\n")
            }
            let line = ["-s", "-Z", "--parallel-max-host", "2", lab.plainURL("/[1-5]"), "-o", "#1"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: lab.folder) { [lab] _ in
                try await gate.arrivals(atLeast: 2)
                // While another command has its response, the third transfer would have arrived.
                #expect(try await lab.beeline(["-s", lab.plainURL("/other")]).text == "other")
                gate.open()
            }
            #expect(run.status == 0, "\(run.errors)")
            for name in ["1", "2", "3", "4", "5"] { #expect(try lab.folder.text(name) == "/\(name)\n") }
            #expect(running.withLockedValue { $0.most } == 2)
            await lab.stop()
        }

        @Test func aServerNamesAFileThatIsNotReplaced() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let line = ["-sOJ", "--output-dir", "new/folder", "--create-dirs", lab.plainURL("/named")]
            let run = try await lab.beeline(line + ["-w", "%{filename_effective}"])
            #expect(run.status == 0 && run.text == "new/folder/given.txt", "\(run.errors)")
            #expect(try lab.folder.text("new/folder/given.txt") == "named")
            #expect(try await lab.beeline(line).status == 23)
            #expect(try await lab.beeline(line + ["--no-clobber"]).status == 0)
            #expect(try lab.folder.text("new/folder/given.txt.1") == "named")
            #expect(try await lab.beeline(line + ["--clobber"]).status == 0)
            await lab.stop()
        }

        @Test func aFileStaysIfTheRequestFailsOrItExists() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            try lab.folder.write("before", to: "out")
            #expect(try await lab.beeline(["-s", "-f", "-o", "out", lab.plainURL("/missing")]).status == 22)
            #expect(try await lab.beeline(["-s", "--skip-existing", "-o", "out", lab.plainURL("/x")]).status == 0)
            #expect(try lab.folder.text("out") == "before" && lab.plain.requests.count == 1)
            let run = try await lab.beeline([
                "-s", "--remove-on-error", "--max-filesize", "2", "-o", "big", lab.plainURL("/x"),
            ])
            #expect(run.status == 63 && !lab.folder.has("big"))
            await lab.stop()
        }

        @Test func aBodyOfUnknownLengthIsCutAtTheLimit() async throws {
            let body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"
            let lab = try await CommandLab { _ in .text("unused") }
            let origin = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send(body)
            }
            let run = try await lab.beeline(["-s", "--max-filesize", "4", "http://\(origin.endpoint)/"])
            #expect(run.status == 63 && run.text == "abcd")
            await origin.stop()
            await lab.stop()
        }

        @Test func aCommandLineThatIsProbablyWrongGetsWarnings() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            try lab.folder.write("data = arg with space\nuser-agent = one # two\n", to: "options")
            let line = [lab.plainURL("/x"), "-o", "a", "-o", "b", "-K", "options"]
            let run = try await lab.beeline(line)
            #expect(run.status == 0)
            #expect(run.errors.contains("Warning: Got more output options than URLs\n"))
            #expect(run.errors.contains("Warning: options:1 Option 'data' uses argument with unquoted whitespace."))
            #expect(!run.errors.contains("options:2"))
            #expect(try await lab.beeline(["-s"] + line).errors == "")
            await lab.stop()
        }

        @Test func conditionsAreSentAndKept() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let url = lab.plainURL("/dated")
            let first = try await lab.beeline(["-s", "-R", "-o", "out", "--etag-save", "tag", url])
            #expect(first.status == 0, "\(first.errors)")
            #expect(try lab.folder.text("tag") == "\"e1\"\n")
            let date =
                try FileManager.default.attributesOfItem(atPath: "\(lab.folder.path)/out")[.modificationDate] as? Date
            #expect(date?.timeIntervalSince1970 == 784_111_777)
            // The server ignores the condition: its response is older than the file.
            let format = "%{response_code} %{size_download}"
            let second = try await lab.beeline(["-s", "-z", "out", "--etag-compare", "tag", "-w", format, url])
            #expect(second.text == "304 0", "\(second.errors)")
            #expect(lab.plain.requests.last?.fields[.ifNoneMatch] == "\"e1\"")
            #expect(lab.plain.requests.last?.fields[.ifModifiedSince] == "Sun, 06 Nov 1994 08:49:37 GMT")
            await lab.stop()
        }

        @Test("--etag-compare reads a pipe, and a file that does not exist has an empty ETag")
        func tagOfAPipe() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let script = #"echo '"e1"' | "$0" -s -o out --etag-compare "$1" "$2""#
            for (path, tag) in [("/dev/stdin", "\"e1\""), ("missing", "\"\"")] {
                let arguments = ["-c", script, CommandRun.beeline, path, lab.plainURL("/dated")]
                let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder)
                #expect(run.status == 0, "\(run.errors)")
                #expect(lab.plain.requests.last?.fields[.ifNoneMatch] == tag)
            }
            await lab.stop()
        }

        @Test func writeOutGoesToFilesAndStreams() async throws {
            let lab = try await CommandLab { Self.serve($0) }
            let format =
                "%output{one}%{http_code}%{stderr}%{method}%output{>>one}+%{url.path}%{stdout}.%header{etag:all:,}"
            let run = try await lab.beeline(["-s", "-o", "out", "-w", format, lab.plainURL("/dated")])
            #expect(run.text == ".\"e1\"" && run.errors == "GET")
            #expect(try lab.folder.text("one") == "200+/dated")
            await lab.stop()
        }

        @Test func messagesGoToTheFileOfStderr() async throws {
            let run = try await CommandRun.run(CommandRun.beeline, ["--stderr", "-", "foo://x/"], in: try Folder())
            #expect(run.status == 1 && run.errors == "" && run.text.hasPrefix("beeline: (1) "))
        }

        @Test func anUploadResumes() async throws {
            let lab = try await CommandLab { .text($0.text) }
            try lab.folder.write("0123456789", to: "file")
            let run = try await lab.beeline(["-s", "-T", "file", "-C", "4", lab.plainURL("/up")])
            #expect(run.text == "456789" && lab.plain.requests.last?.fields[.contentRange] == "bytes 4-9/10")
            let slow = try await lab.beeline(["-s", "-T", "file", "--limit-rate", "1M", lab.plainURL("/up")])
            #expect(slow.text == "0123456789", "\(slow.errors)")
            await lab.stop()
        }

        @Test func aSlowTransferEnds() async throws {
            let gate = Gate()
            let lab = try await CommandLab { _ in
                Reply(fields: [.contentLength: "10"], body: ["half", .wait(gate), "rest!!"])
            }
            let run = try await lab.beeline(["-s", "-S", "-Y", "1000", "-y", "1", "-o", "out", lab.plainURL("/")])
            #expect(run.status == 28 && run.errors.contains("slower than 1000 bytes"), "\(run.errors)")
            gate.open()
            await lab.stop()
        }
    }
}
