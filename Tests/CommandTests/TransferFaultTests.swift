// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Transfers that wait, end early or bring nothing: the files and the exit code stay right.
    struct TransferFaultTests {
        @Test("status 304 leaves the output file as it is")
        func notModifiedLeavesTheFile() async throws {
            let lab = try await CommandLab { request in
                request.fields[.ifNoneMatch] == nil
                    ? .text("dated").adding(.lastModified, "Sun, 06 Nov 1994 08:49:37 GMT")
                    : Reply(status: .notModified)
            }
            try lab.folder.write("before", to: "out")
            try lab.folder.write("\"e1\"\n", to: "tag")
            for option in [["--etag-compare", "tag"], ["-z", "1 Jan 2000"]] {
                let run = try await lab.beeline(["-s", "-o", "out"] + option + [lab.plainURL()])
                #expect(run.status == 0 && run.errors == "", "\(run.errors)")
                #expect(try lab.folder.text("out") == "before", "\(option)")
            }
            await lab.stop()
        }

        @Test("a folder is not uploaded: the server gets no request, and the message names the folder")
        func folderIsNoUpload() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            for (option, value) in [("-T", lab.folder.path), ("-F", "f=@\(lab.folder.path)")] {
                let run = try await lab.beeline([option, value, lab.plainURL("/up")])
                #expect(run.status == 26)
                #expect(run.errors == "beeline: (26) \(option): \(lab.folder.path) is a folder\n")
            }
            // As in curl, this is standard input.
            #expect(try await lab.beeline(["-T", ".", lab.plainURL("/up")]).status == 0)
            #expect(lab.plain.requests.map(\.path) == ["/up"])
            await lab.stop()
        }

        @Test("a signal during the wait for a retry leaves the output file as it is", .timeLimit(.minutes(1)))
        func interruptedRetryLeavesTheFile() async throws {
            let lab = try await CommandLab { _ in .text("later", status: .serviceUnavailable) }
            try lab.folder.write("before", to: "out")
            let line = ["-f", "-o", "out", "--stderr", "notes", "--retry", "1", "--retry-delay", "500", lab.plainURL()]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: lab.folder) {
                [folder = lab.folder] process in
                while try !(folder.has("notes") && folder.text("notes").contains("retrying in")) {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                kill(process, SIGTERM)
            }
            #expect(run.status == 128 + SIGTERM)
            #expect(try lab.folder.text("out") == "before")
            await lab.stop()
        }

        @Test(
            "--fail-early returns the status of the failed transfer, not of those that it ends",
            .timeLimit(.minutes(1))
        )
        func failEarlyKeepsItsStatus() async throws {
            let gate = Gate()
            let lab = try await CommandLab { _ in Reply(body: ["half", .wait(gate)]) }
            let line = ["-s", "-Z", "--fail-early", "-o", "out", lab.plainURL(), "foo://x/"]
            #expect(try await lab.beeline(line).status == 1)
            gate.open()
            await lab.stop()
        }

        @Test("a cookie file that cannot be written does not lose the others")
        func otherCookieFilesAreWritten() async throws {
            let lab = try await CommandLab { _ in .text("").adding(.setCookie, "a=b; Max-Age=100") }
            let run = try await lab.beeline([
                "-s", "-c", "missing/first", lab.plainURL(), "--next", "-c", "second", lab.plainURL(),
            ])
            #expect(run.status != 0)
            #expect(try lab.folder.text("second").contains("a\tb"))
            await lab.stop()
        }

        @Test("-m ends a wait for --limit-rate, and an empty file is uploaded with -C -", .timeLimit(.minutes(1)))
        func pacingAndEmptyUploads() async throws {
            let lab = try await CommandLab { request in
                request.method == .put ? .text("\(request.bodySize)") : .text(String(repeating: "x", count: 100_000))
            }
            let slow = try await lab.beeline(["-s", "--limit-rate", "10", "-m", "1", "-o", "out", lab.plainURL()])
            #expect(slow.status == 28, "\(slow.errors)")
            // The bytes of each second are written, not a whole piece before a long wait.
            #expect(try (1..<1_000).contains(lab.folder.data("out").count))
            try lab.folder.write("", to: "empty")
            #expect(try await lab.beeline(["-s", "-T", "empty", "-C", "-", lab.plainURL("/up")]).text == "0")
            await lab.stop()
        }
    }
}
