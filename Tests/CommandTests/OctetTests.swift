// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Names and texts outside ASCII, and octets that are not UTF-8.
    struct OctetTests {
        @Test("-O names the file as the URL was typed, not as it is sent")
        func remoteNamesAreAsTyped() async throws {
            let lab = try await CommandLab { request in .text(request.target) }
            let rows: [(line: [String], file: String, target: String)] = [
                (["-O", lab.plainURL("/dl/报告.pdf?v=1/2")], "报告.pdf", "/dl/%E6%8A%A5%E5%91%8A.pdf?v=1/2"),
                (["-g", "-O", lab.plainURL("/a{1}.pdf")], "a{1}.pdf", "/a%7B1%7D.pdf"),
                (["-O", lab.plainURL("/b%20c/")], "b%20c", "/b%20c/"),
                (["-O", "127.0.0.1:\(lab.plain.port)/é#part"], "é", "/%C3%A9"),
            ]
            for (line, file, target) in rows {
                let run = try await lab.beeline(["-s"] + line)
                #expect(run.status == 0, "\(run.errors)")
                #expect(lab.folder.has(file), "\(line)")
                guard lab.folder.has(file) else { continue }
                #expect(try lab.folder.text(file) == target)
            }
            let count = lab.plain.requests.count
            let skipped = try await lab.beeline(["-s", "--skip-existing", "-O", lab.plainURL("/dl/报告.pdf")])
            #expect(skipped.status == 0 && lab.plain.requests.count == count, "\(skipped.errors)")
            await lab.stop()
        }
    }
}
