// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore

/// The file of ``TLSSettings/keyLogFile``: a line for each secret, in the format of NSS.
final class KeyLogFile: Sendable {
    private let descriptor: CInt

    /// Opens the file to append to it, or creates it for this user only.
    ///
    /// - Throws: ``DirectHTTPError`` with code `tlsFailed` if the file cannot be opened.
    init(_ path: String) throws(DirectHTTPError) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw DirectHTTPError(.tlsFailed, "the file \(path) for TLS secrets cannot be written: \(reason)")
        }
    }

    deinit { close(descriptor) }

    /// Appends a line with one call, so that lines of several threads and programs do not mix. A full disk loses the line only.
    func append(_ line: ByteBuffer) {
        line.withUnsafeReadableBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
    }
}
