// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Names
import Testing

extension ProcessTests {
    /// Arguments, files and environments with unexpected content.
    struct ArgumentFaultTests {
        @Test("an argument or an option of -K that is not UTF-8 is refused, because other data would be sent")
        func octetsAreNotReplaced() async throws {
            let lab = try await CommandLab { .text($0.text) }
            for script in [
                "exec \"$0\" -d \"$(printf 's3cret\\374')\" \"$1\"", "exec \"$0\" -o \"$(printf 'a\\374')\" \"$1\"",
                "exec \"$0\" -u \"$(printf 'me:\\374')\" \"$1\"", "exec \"$0\" resolve \"$(printf '\\374')\"",
                "exec \"$0\" run -- echo \"$(printf '\\374')\"",
            ] {
                let run = try await CommandRun.run(
                    "/bin/sh",
                    ["-c", script, CommandRun.beeline, lab.plainURL()],
                    in: lab.folder
                )
                #expect(run.status == 64 && run.errors.contains("is not UTF-8"), "\(script): \(run.errors)")
                #expect(!run.errors.contains("s3cret") && run.output.isEmpty)
                // Only fetch has the option of the hint.
                let isFetch = !script.contains(" resolve ") && !script.contains(" run ")
                #expect(run.errors.contains("--data-binary") == isFetch, "\(script): \(run.errors)")
            }
            try lab.folder.write(Data("# \u{FC}\n".unicodeScalars.map { UInt8($0.value) }), to: "comment")
            try lab.folder.write(Data("silent\ndata = \u{FC}\n".unicodeScalars.map { UInt8($0.value) }), to: "value")
            #expect(try await lab.beeline(["-K", "comment", lab.plainURL()]).status == 0)
            let value = try await lab.beeline(["-K", "value", lab.plainURL()])
            #expect(value.status == 64 && value.errors.contains("value, line 2"), "\(value.errors)")
            #expect(lab.plain.requests.count == 1)
            await lab.stop()
        }

        @Test("-G and --url-query send the octets of a file that is not UTF-8 as they are")
        func octetsOfAQuery() async throws {
            let lab = try await CommandLab { .text($0.target) }
            try lab.folder.write(Data([0x61, 0x3d, 0xfc, 0x26]), to: "latin1")
            let got = try await lab.beeline(["-s", "-G", "--data-binary", "@latin1", lab.plainURL("/x")])
            #expect(got.text == "/x?a=%FC&", "\(got.text)\(got.errors)")
            try lab.folder.write("a=ü", to: "utf8")
            let text = try await lab.beeline(["-s", "-G", "--data-binary", "@utf8", lab.plainURL("/x")])
            #expect(text.text == "/x?a=%C3%BC", "\(text.text)\(text.errors)")
            await lab.stop()
        }

        @Test("no message and no report shows the password of a URL")
        func passwordsOfURLsAreHidden() async throws {
            let gate = Gate()
            let lab = try await CommandLab { request in
                request.path == "/slow"
                    ? Reply(fields: [.contentLength: "10"], body: ["half", .wait(gate)]) : .text("done")
            }
            let place = "127.0.0.1:\(lab.plain.port)"
            try lab.folder.write("", to: "out")
            for line in [
                ["-Y", "1000", "-y", "1", "-o", "slow", "http://me:s3cret@\(place)/slow"],
                ["--skip-existing", "-o", "out", "http://me:s3cret@\(place)/"],
                ["http://me:s3cret@\(place)/[a-"], ["--report", "-g", "http://me:s3cret@a b/"],
                ["--report", "-g", "me:s3cret@a.test:x/"], ["--report", "-g", "http://me:s3/cret@a.test/"],
                ["-g", "http://me:s3cret@a b/"], ["--report", "foo://me:s3cret@a.test/"],
            ] {
                let run = try await lab.beeline(line)
                #expect(!run.errors.isEmpty && !run.errors.contains("cret"), "\(line): \(run.errors)")
            }
            let wrong = try await lab.beeline(["http://me:s3cret@a.test/[a-"])
            #expect(wrong.errors.contains("\"…@a.test/[a-\" has a range that is not closed at position 11"))
            gate.open()
            await lab.stop()
        }

        @Test("a file of --stderr that cannot be opened is a warning, and errors of options go to the file")
        func messagesWithoutTheirFile() async throws {
            let lab = try await CommandLab { _ in .text("done") }
            let run = try await lab.beeline(["--stderr", "missing/file", lab.plainURL()])
            #expect(run.status == 0 && run.text == "done" && run.errors.hasPrefix("Warning: --stderr"), "\(run.errors)")
            #expect(try await lab.beeline(["-s", "--stderr", "missing/file", lab.plainURL()]).errors == "")
            let wrong = try await lab.beeline(["--stderr", "errors", "-m", "-1", lab.plainURL()])
            #expect(wrong.status == 64 && wrong.errors == "")
            #expect(try lab.folder.text("errors").hasPrefix("beeline: (64) -m"))
            await lab.stop()
        }

        @Test("with an empty -x, --preproxy is the proxy")
        func anEmptyProxyKeepsThePreproxy() async throws {
            let lab = try await CommandLab { _ in .text("done") }
            let site = Endpoint(IPAddress(v4: 0x7f00_0001), port: lab.plain.port)
            let proxy = try await ProxyServer.start(.socks5) { _, _ in site }
            let line = ["-s", "-x", "", "--preproxy", "\(proxy.endpoint)", "http://a.test/"]
            let run = try await lab.beeline(line)
            #expect(run.status == 0 && run.text == "done", "\(run.errors)")
            await proxy.stop()
            await lab.stop()
        }

        @Test("without HOME, -n does not read a .netrc of the present folder")
        func noHomeIsNotThisFolder() async throws {
            let lab = try await CommandLab { .text($0.fields[.authorization] ?? "none") }
            try lab.folder.write("machine 127.0.0.1 login me password planted", to: ".netrc")
            let arguments = ["-u", "HOME", CommandRun.beeline, "-s", "--netrc-optional", lab.plainURL()]
            let run = try await CommandRun.run("/usr/bin/env", arguments, in: lab.folder)
            #expect(run.status == 0 && run.text == "none", "\(run.text)\(run.errors)")
            // With HOME, it is the user's file.
            #expect(try await lab.beeline(["-s", "-n", lab.plainURL()]).text.hasPrefix("Basic "))
            await lab.stop()
        }
    }
}
