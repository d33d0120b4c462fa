// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import Foundation
import HTTPTypes
import Names
import Testing

@Suite("Bodies that are files")
struct FileBodyTests {
    @Test("a FIFO is refused, and its writer is not waited for")
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
