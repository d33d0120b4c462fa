// SPDX-License-Identifier: Apache-2.0

import CZlib
import NIOCore

/// Undoes `Content-Encoding: gzip` and `deflate` (RFC 9110 §8.4.1) a bounded piece at a time, so that a small body that
/// grows a thousandfold never stands in memory whole.
///
/// Not Sendable: it belongs to the one reader of a body.
final class Inflater {
    /// What one call gives at the most.
    static let pieceSize = 64 * 1024
    /// Coded bytes that may give nothing. Blocks without content can follow each other for ever, and their reader would never come
    /// to count a byte or to be cancelled.
    static let maximumSilence = 1 << 20

    private var stream = z_stream()
    private var input = ByteBuffer()
    private var isOpen = false
    /// Whether a member is whole and no other has begun.
    private(set) var isFinished = false
    /// Whether something stands behind the last member that is none.
    private var hasTrailer = false
    /// Whether anything was handed over: no bytes at all are an empty body, not a broken one.
    private(set) var hasStarted = false
    private let coding: Coding
    /// Coded bytes since the last plain one.
    private var silence = 0

    enum Coding: Sendable {
        case gzip
        case deflate

        /// The coding of a name; nil where it is none that we undo.
        init?(_ name: some StringProtocol) {
            switch name.lowercased() {
            case "gzip", "x-gzip": self = .gzip
            case "deflate": self = .deflate
            default: return nil
            }
        }

        /// The codings of a `Content-Encoding` value in the order in which they were applied; empty where one of them is none
        /// that we undo, and where they are more than ``ContentDecoder/maximumCodings``: then the body stays as it came.
        static func list(fieldValue: String) -> [Coding] {
            let names = fieldValue.split(separator: ",").map { $0.trimmingBlanks() }
                .filter { !$0.isEmpty && $0.lowercased() != "identity" }
            let codings = names.compactMap { Coding($0) }
            return codings.count == names.count && names.count <= ContentDecoder.maximumCodings ? codings : []
        }
    }

    init(_ coding: Coding) {
        self.coding = coding
    }

    deinit {
        if isOpen { inflateEnd(&stream) }
    }

    /// Hands over coded bytes; only when ``next()`` has nothing more.
    func feed(_ bytes: ByteBuffer) {
        hasStarted = true
        if input.readableBytes == 0 {
            input = bytes
        } else {
            // Without this a long body would be kept whole, and a buffer has room for 4 GiB.
            input.discardReadBytes()
            input.writeImmutableBuffer(bytes)
        }
    }

    /// How much memory its input holds.
    var capacity: Int { input.storageCapacity }

    /// The next plain bytes; nil where more input is needed or the coded body is at its end.
    func next() throws(DirectHTTPError) -> ByteBuffer? {
        while input.readableBytes > 0 {
            if isFinished, !beginNextMember() {
                // What stands behind the end is nobody's, and must not pile up.
                input.clear()
                return nil
            }
            let before = input.readableBytes
            let output = try inflatePiece()
            if output.readableBytes > 0 {
                silence = 0
                // A server that flushes after each byte must not make each keep the memory of a large piece.
                return output.compacted()
            }
            silence += before - input.readableBytes
            guard silence <= Self.maximumSilence else {
                throw DirectHTTPError(.undecodableBody, "the coded body goes on without a byte of content")
            }
            // Nothing came out although something went in (a header was read, an empty member): on, else wait for input.
            guard input.readableBytes < before else { return nil }
        }
        return nil
    }

    private func inflatePiece() throws(DirectHTTPError) -> ByteBuffer {
        try open()
        var output = ByteBuffer()
        var status = Z_OK
        var read = 0
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { space in
            input.withUnsafeReadableBytes { bytes in
                // zlib does not write to its input; its C signature cannot say so.
                stream.next_in = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?
                    .assumingMemoryBound(to: UInt8.self)
                stream.avail_in = UInt32(min(bytes.count, 1 << 30))
                let offered = stream.avail_in
                stream.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.avail_out = UInt32(Self.pieceSize)
                status = inflate(&stream, Z_NO_FLUSH)
                read = Int(offered - stream.avail_in)
            }
            return Self.pieceSize - Int(stream.avail_out)
        }
        input.moveReaderIndex(forwardBy: read)
        switch status {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isFinished = true
        default:
            throw DirectHTTPError(.undecodableBody, "the body is not \(coding) although Content-Encoding says so")
        }
        return output
    }

    /// A gzip body may have several members (RFC 1952 §2.2), and the next one may come with a later piece.
    private func beginNextMember() -> Bool {
        guard coding == .gzip, !hasTrailer, input.getInteger(at: input.readerIndex, as: UInt8.self) == 0x1f else {
            hasTrailer = true
            return false
        }
        inflateReset(&stream)
        isFinished = false
        return true
    }

    private func open() throws(DirectHTTPError) {
        guard !isOpen else { return }
        // 15 bits of window; +16 asks for a gzip header. "deflate" means zlib's form, but some servers send it raw:
        // the low four bits of zlib's first byte are always 8.
        let isRaw = coding == .deflate && (input.getInteger(at: input.readerIndex, as: UInt8.self) ?? 8) & 0x0f != 8
        guard CZlib_inflateInit2(&stream, coding == .gzip ? 31 : isRaw ? -15 : 15) == Z_OK else {
            throw DirectHTTPError(.undecodableBody, "zlib could not be started: out of memory")
        }
        isOpen = true
    }
}
