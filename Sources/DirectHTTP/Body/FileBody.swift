// SPDX-License-Identifier: Apache-2.0

import LibC
import NIOCore
import NIOPosix

/// Reads a file in pieces on NIO's thread pool, so that the disk blocks no event loop and no thread of Swift concurrency.
enum FileBody {
    /// 128 KiB, so large that the cost of switching to the pool is negligible.
    static let pieceSize = 128 * 1024

    /// The size of a readable regular file.
    static func length(of path: String) throws(DirectHTTPError) -> Int64 {
        let descriptor = try Self.descriptor(of: path)
        defer { _ = close(descriptor) }
        let kind = FileKind(descriptor: descriptor)
        guard kind != .none else { throw failed(path, "cannot be examined") }
        guard let size = kind.size else {
            throw DirectHTTPError(.bodySourceFailed, "\(path) is not a regular file: send it as a stream")
        }
        return size
    }

    /// Passes the file to `body` piece by piece, until `length` bytes or the end of the file.
    static func forEachPiece(of path: String, length: Int64, _ body: (ByteBuffer) async throws -> Void) async throws {
        let pool = NIOThreadPool.singleton
        let descriptor = try await pool.runIfActive { try Self.descriptor(of: path) }
        defer { _ = close(descriptor) }
        var offset: Int64 = 0
        while offset < length {
            let from = offset
            let count = Int(min(Int64(pieceSize), length - offset))
            let piece = try await pool.runIfActive {
                var piece = ByteBuffer()
                try piece.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
                    let got = pread(descriptor, space.baseAddress, count, off_t(from))
                    guard got >= 0 else { throw failed(path, "cannot be read") }
                    return got
                }
                return piece
            }
            guard piece.readableBytes > 0 else { return }
            offset += Int64(piece.readableBytes)
            try await body(piece)
        }
    }

    private static func descriptor(of path: String) throws(DirectHTTPError) -> CInt {
        // Without O_NONBLOCK, opening a FIFO would wait for a writer. The flag does not affect regular files.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failed(path, "cannot be opened") }
        return descriptor
    }

    private static func failed(_ path: String, _ what: String) -> DirectHTTPError {
        let cause = IOError(errnoCode: errno, reason: "file body")
        return DirectHTTPError(
            .bodySourceFailed,
            "the file \(path) \(what): \(String(cString: strerror(cause.errnoCode)))",
            underlyingError: cause
        )
    }
}
