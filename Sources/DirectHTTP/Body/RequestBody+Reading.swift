// SPDX-License-Identifier: Apache-2.0

public import NIOCore

extension RequestBody {
    /// The length in bytes; nil if it is unknown. A file's size is read anew each time.
    ///
    /// - Throws: ``DirectHTTPError`` with code `bodySourceFailed` for a file that cannot be read.
    public func contentLength() throws(DirectHTTPError) -> Int64? {
        switch storage {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.readableBytes)
        case .file(let path): try FileBody.length(of: path)
        case .stream(let source): try source.measure()
        }
    }

    /// The bytes of a body in memory, for example for an interceptor that signs them. Empty if there is no body; nil for
    /// files and sequences, which are read only while they are sent.
    public var bytesInMemory: ByteBuffer? {
        switch storage {
        case .none: ByteBuffer()
        case .bytes(let bytes): bytes
        case .stream(let source): source.bytes
        case .file: nil
        }
    }

    func forEachPiece(_ body: (ByteBuffer) async throws -> Void) async throws {
        switch storage {
        case .none:
            return
        case .bytes(var bytes):
            while bytes.readableBytes > 0,
                let piece = bytes.readSlice(length: min(bytes.readableBytes, FileBody.pieceSize))
            {
                try await body(piece)
            }
        case .file(let path):
            try await FileBody.forEachPiece(of: path, length: FileBody.length(of: path), body)
        case .stream(let source):
            try await source.forEach(body)
        }
    }
}
