// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A folder for one temporary cookie file, which only this user can read.
struct CookieFolder: Sendable {
    private let path: String

    /// - Throws: ``CommandFailure`` with status `writeFailed`.
    init() throws(CommandFailure) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        var template = Array("\(parent.isEmpty ? "/tmp" : parent)/beeline-login-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandFailure(.writeFailed, "cannot create a temporary folder: \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Deletes the folder and the file.
    func remove() {
        unlink(file)
        rmdir(path)
    }

    /// The path of the file.
    var file: String { "\(path)/cookies.txt" }
}
