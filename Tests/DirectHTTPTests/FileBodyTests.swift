// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Foundation
import HTTPTypes
import Names
import Testing

@Suite("File bodies")
struct FileBodyTests {
    @Test("a FIFO is refused without waiting for its writer")
    func pipe() throws {
        let path = FileManager.default.temporaryDirectory.path + "/beeline-test-\(UUID().uuidString)"
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let error = #expect(throws: DirectHTTPError.self) {
            try PreparedRequest(.put, HTTPURL("http://a.test/"), body: .file(path))
        }
        #expect(error?.code == .bodySourceFailed)
        #expect(error?.message.contains("not a regular file") == true)
    }
}
