// SPDX-License-Identifier: Apache-2.0

import Testing

extension ProcessTests {
    /// The counts that `beeline cookies import` prints.
    struct CookieImportTests {
        @Test func cookiesThatHaveExpiredAreNotCountedAsImported() async throws {
            let lab = try await CommandLab()
            let lines = ["a.test\tFALSE\t/\tFALSE\t0\talive\t1", "a.test\tFALSE\t/\tFALSE\t946684800\texpired\t1"]
            try lab.folder.write(lines.joined(separator: "\n"), to: "cookies.txt")
            for jar in ["jar.txt", "jar.sqlite"] {
                let run = try await lab.beeline(["cookies", "import", "--jar", jar, "cookies.txt"])
                #expect(run.text == "imported 1, skipped 1\n")
                #expect(run.errors.contains("cookies.txt: line 2: it has expired"))
            }
            await lab.stop()
        }
    }
}
