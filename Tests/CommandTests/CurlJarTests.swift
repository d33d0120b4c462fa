// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// The command and curl can share a cookie file without losing cookies.
    @Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "curl is not installed"))
    struct CurlJarTests {
        /// The cookie lines of a file, in an order that does not depend on the program that wrote it.
        private static func cookies(_ folder: Folder, _ name: String) throws -> [String] {
            try folder.text(name).split(separator: "\n").map(String.init)
                .filter { !$0.hasPrefix("# ") && $0.contains("\t") }.sorted()
        }

        private static func curl(_ lab: CommandLab, _ arguments: String...) async throws {
            let run = try await CommandRun.run("/usr/bin/curl", ["-q", "-s", "-S"] + arguments, in: lab.folder)
            #expect(run.status == 0, "\(run.errors)")
        }

        @Test func aFileOfCurlIsReadAndWrittenBackAsItWas() async throws {
            // Within the limit of 400 days that both apply.
            let date = CookieTime(secondsSince1970: CookieTime.now.secondsSince1970.rounded() + 8_640_000).httpDate
            let lab = try await CommandLab { _ in
                Reply.text("ok").adding(.setCookie, "session=1; Path=/")
                    .adding(.setCookie, "dated=a b; Expires=\(date); Path=/")
                    .adding(.setCookie, "only=\"q\"; HttpOnly; Path=/deep/").adding(.setCookie, "empty=; Path=/")
            }
            try await Self.curl(lab, "-c", "curl.txt", "-o", "/dev/null", lab.plainURL())
            let written = try Self.cookies(lab.folder, "curl.txt")
            #expect(written.count == 4)
            // From curl to the command: it sends the cookies that curl would send, and leaves the file unchanged.
            try await Self.curl(lab, "-b", "curl.txt", "-o", "/dev/null", lab.plainURL("/deep/"))
            for jar in ["curl.txt", "our.json", "our.sqlite"] {
                if jar != "curl.txt" {
                    let run = try await lab.beeline(["cookies", "import", "--jar", jar, "curl.txt"])
                    #expect(run.text == "imported 4, skipped 0\n")
                }
                let line = ["--jar", jar, "-o", "/dev/null", lab.plainURL("/deep/")]
                #expect(try await lab.beeline(line).status == 0)
                #expect(lab.plain.requests.last?.cookies == lab.plain.requests[1].cookies)
                #expect(lab.plain.requests.last?.cookies.count == 4)
                let back = try await lab.beeline(["cookies", "export", "--jar", jar])
                try lab.folder.write(back.output, to: "back.txt")
                #expect(try Self.cookies(lab.folder, "back.txt") == written, "\(jar)")
            }
            // Back to curl, which writes the cookies that it has read.
            try await Self.curl(lab, "-b", "back.txt", "-c", "again.txt", "-o", "/dev/null", lab.plainURL("/deep/"))
            #expect(lab.plain.requests.last?.cookies == lab.plain.requests[1].cookies)
            #expect(try Self.cookies(lab.folder, "again.txt") == written)
            await lab.stop()
        }
    }
}
