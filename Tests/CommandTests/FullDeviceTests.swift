// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Every subcommand ends with exit code 23 if it cannot write its result.
    @Suite(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    struct FullDeviceTests {
        @Test(
            "a full device as standard output causes exit code 23 and a one-line error",
            arguments: [
                ["cookies", "list", "--jar", "jar.txt"], ["cookies", "list", "--json", "--jar", "jar.txt"],
                ["cookies", "export", "--jar", "jar.txt"], ["cookies", "header", "--jar", "jar.txt", "http://a.test/"],
                ["cookies", "set", "--jar", "jar.txt", "http://a.test/", "x=1"],
                ["cookies", "delete", "--jar", "jar.txt", "http://a.test/"], ["cookies", "clear", "--jar", "jar.txt"],
                ["cookies", "import", "--jar", "new.txt", "jar.txt"], ["cookies", "replay"], ["resolve", "127.0.0.1"],
                ["resolve", "--json", "127.0.0.1"], ["doctor", "URL"], ["doctor", "--json", "URL"], ["demo"],
                ["proxy", "--listen", "127.0.0.1:0"], ["serve", "--listen", "127.0.0.1:0", "--dns", "system"],
                ["serve", "--listen", "127.0.0.1:0", "--dns", "system", "--drain-delay", "600"],
                ["dns", "--listen", "127.0.0.1:0", "--drain-delay", "600"],
                ["--version"],
                ["help"], ["cookies", "--help"], ["URL"], ["-i", "URL"], ["-I", "URL"],
                ["-D", "-", "-o", "file", "URL"],
                ["-w", "%{http_code}", "-o", "file", "URL"], ["-c", "-", "-o", "file", "URL"],
            ]
        )
        func resultsOnAFullDevice(_ line: [String]) async throws {
            let lab = try await CommandLab()
            try lab.folder.write("a.test\tFALSE\t/\tFALSE\t0\tname\tvalue\n", to: "jar.txt")
            let arguments = line.map { $0 == "URL" ? lab.plainURL("/bytes/10") : $0 }
            let script = ["-c", "exec \"$0\" \"$@\" >/dev/full", CommandRun.beeline]
            let input = Data("{\"id\": 1, \"kind\": \"date\", \"input\": \"x\"}\n".utf8)
            let run = try await CommandRun.run("/bin/sh", script + arguments, in: lab.folder, input: input)
            #expect(run.status == 23, "\(run.errors)")
            #expect(
                run.errors.hasPrefix("beeline: (23) ") && run.errors.filter(\.isNewline).count == 1,
                "\(run.errors)"
            )
            await lab.stop()
        }

        @Test(
            "an output file on a full device causes exit code 23",
            arguments: [
                ["-o", "/dev/full", "URL"], ["-D", "/dev/full", "-o", "file", "URL"],
                ["-c", "/dev/full", "-o", "file", "URL"],
                ["doctor", "--html", "/dev/full", "URL"],
            ]
        )
        func filesOnAFullDevice(_ line: [String]) async throws {
            let lab = try await CommandLab { _ in .text("body").adding(.setCookie, "a=b") }
            let arguments = line.map { $0 == "URL" ? lab.plainURL() : $0 }
            let run = try await lab.beeline(arguments)
            #expect(run.status == 23 && run.errors.hasPrefix("beeline: (23) "), "\(run.errors)")
            var status = stat()
            #expect(lstat("/dev/full", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
            await lab.stop()
        }
    }
}
