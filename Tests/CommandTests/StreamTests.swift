// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

extension ProcessTests {
    /// Pipes, devices and folders in place of files, and servers that send wrong lengths.
    struct StreamTests {
        @Test("a Content-Length that overflows with the offset does not crash a resumed download on a terminal")
        func aLengthBeyondEveryNumber() async throws {
            let lab = try await CommandLab { _ in
                Reply(
                    status: .partialContent,
                    fields: [.contentRange: "bytes 10-19/*", .contentLength: "9223372036854775807"],
                    body: ["abc"],
                    ending: .hangUp
                )
            }
            try lab.folder.write("0123456789", to: "part")
            let line = [CommandRun.beeline, "-C", "-", "-o", "part", lab.plainURL()]
            let run = try await PseudoTerminal.run(line, in: lab.folder)
            #expect(run.status == 18, "\(run.text)\(run.errors)")
            #expect(run.text.contains("13 B") && run.text.contains("beeline:"), "\(run.text)")
            #expect(try lab.folder.text("part") == "0123456789abc")
            await lab.stop()
        }

        @Test("once data was written to a pipe or device, there is no retry", arguments: ["/dev/stdout", "pipe"])
        func nothingIsWrittenTwiceIntoAPipe(_ output: String) async throws {
            let gate = Gate()
            let lab = try await CommandLab { _ in
                Reply(fields: [.contentLength: "8"], body: ["half", .wait(gate), "rest"])
            }
            let script = """
                mkfifo pipe; [ "$1" = pipe ] && { cat pipe >seen & }
                "$0" -s --retry 2 --retry-delay 0.01 -m 0.5 -o "$1" -w '%{stderr}%{num_retries}' "$2" | cat; wait
                """
            let arguments = ["-c", script, CommandRun.beeline, output, lab.plainURL()]
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder)
            #expect(run.errors == "0")
            #expect(try (output == "pipe" ? lab.folder.text("seen") : run.text) == "half")
            gate.open()
            await lab.stop()
        }

        @Test("-D writes the headers of all transfers into one pipe")
        func headsOfAllTransfersGoIntoAPipe() async throws {
            let lab = try await CommandLab()
            let script =
                "mkfifo pipe; cat pipe >seen & \"$0\" -D pipe -o one -o two \"$1\" \"$2\"; code=$?; wait; exit $code"
            let urls = [lab.plainURL("/status/200"), lab.plainURL("/status/404")]
            let arguments = ["-c", script, CommandRun.beeline] + urls
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder)
            #expect(run.status == 0, "\(run.errors)")
            let lines = try lab.folder.text("seen").split(separator: "\r\n")
            #expect(lines.filter { $0.hasPrefix("HTTP/") }.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404"])
            await lab.stop()
        }

        @Test("-T uploads the data of a pipe", arguments: ["pipe", "/dev/stdin"])
        func aPipeIsUploaded(_ path: String) async throws {
            let lab = try await CommandLab { .text("\($0.bodySize) \($0.fields[.contentLength] ?? "none")") }
            let script = """
                mkfifo pipe; bytes() { head -c 300000 /dev/zero; }
                if [ "$1" = pipe ]; then bytes >pipe & "$0" -T pipe "$2"; else bytes | "$0" -T "$1" "$2"; fi
                """
            let arguments = ["-c", script, CommandRun.beeline, path, lab.plainURL("/up")]
            let run = try await CommandRun.run("/bin/sh", arguments, in: lab.folder)
            #expect(run.status == 0 && run.text == "300000 none", "\(run.errors)")
            #expect(lab.plain.requests.map(\.method) == [.put])
            await lab.stop()
        }

        @Test("-T with a directory causes exit code 26")
        func aDirectoryIsNoBody() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-T", lab.folder.path, lab.plainURL("/up")])
            #expect(run.status == 26, "\(run.errors)")
            await lab.stop()
        }

        @Test("a pipe as SQLite jar is refused without waiting for data")
        func aPipeIsNoSQLiteJar() async throws {
            let folder = try Folder()
            try #require(mkfifo("\(folder.path)/jar.sqlite", 0o600) == 0)
            for line in [["cookies", "list"], ["cookies", "set", "a.test", "a=b"], ["http://127.0.0.1:1/"]] {
                let run = try await CommandRun.run(CommandRun.beeline, line + ["--jar", "jar.sqlite"], in: folder)
                #expect(run.status == 26 && run.errors.contains("not a regular file"), "\(run.errors)")
            }
        }

        @Test("an SQLite jar that cannot be reached is not called a pipe")
        func aLoopOfLinksAsSQLiteJar() async throws {
            let folder = try Folder()
            let jar = "\(folder.path)/jar.sqlite"
            try FileManager.default.createSymbolicLink(atPath: jar, withDestinationPath: "jar.sqlite")
            let run = try await CommandRun.run(CommandRun.beeline, ["cookies", "list", "--jar", jar], in: folder)
            #expect(run.status == 26 && run.errors.contains("symbolic links"), "\(run.errors)")
        }
    }
}
