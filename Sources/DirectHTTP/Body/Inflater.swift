// SPDX-License-Identifier: Apache-2.0

import CZlib
import HTTPWire
import NIOCore

/// Decodes `Content-Encoding: gzip` and `deflate` (RFC 9110 §8.4.1) in pieces of bounded size, so that a small body that expands
/// a thousandfold is never in memory as a whole.
///
/// Not Sendable: it belongs to the only reader of the body.
final class Inflater {
    /// The maximum size of a decoded piece in bytes.
    static let pieceSize = 64 * 1024
    /// How many coded bytes may produce no output. Otherwise a stream of empty blocks would keep the reader from counting bytes
    /// and from being cancelled.
    static let maxSilence = 1 << 20

    private var stream = z_stream()
    private var input = ByteBuffer()
    private var isOpen = false
    /// Whether a member is complete and no other has begun.
    private(set) var isFinished = false
    /// Whether bytes follow the last member that do not start another.
    private var hasTrailer = false
    /// Whether input was added. Empty input is an empty body, not an error.
    private(set) var hasStarted = false
    private let coding: Coding
    /// Coded bytes since the last output.
    private var silence = 0

    enum Coding: Sendable {
        case gzip
        case deflate

        /// The coding of a name; nil if it is not supported.
        init?(_ name: some StringProtocol) {
            switch name.lowercased() {
            case "gzip", "x-gzip": self = .gzip
            case "deflate": self = .deflate
            default: return nil
            }
        }

        /// The codings of a `Content-Encoding` value in the order in which they were applied. Empty if one is not supported or if
        /// there are more than ``ContentDecoder/maxCodings``; the body is then not decoded.
        static func list(fieldValue: String) -> [Coding] {
            let names = fieldValue.split(separator: ",").map { $0.trimmingBlanks() }
                .filter { !$0.isEmpty && $0.lowercased() != "identity" }
            let codings = names.compactMap { Coding($0) }
            return codings.count == names.count && names.count <= ContentDecoder.maxCodings ? codings : []
        }
    }

    init(_ coding: Coding) {
        self.coding = coding
    }

    deinit {
        if isOpen { inflateEnd(&stream) }
    }

    /// Adds coded bytes. Call it only when ``next()`` has returned nil.
    func feed(_ bytes: ByteBuffer) {
        hasStarted = true
        input.feed(bytes)
    }

    /// The memory of the input buffer in bytes.
    var capacity: Int { input.storageCapacity }

    /// The next plain bytes; nil if more input is needed or the coded body has ended.
    func next() throws(DirectHTTPError) -> ByteBuffer? {
        while input.readableBytes > 0 {
            if isFinished, !beginNextMember() {
                // Discard bytes after the end, so that they do not accumulate.
                input.clear()
                return nil
            }
            let before = input.readableBytes
            let output = try inflatePiece()
            if output.readableBytes > 0 {
                silence = 0
                // A server that flushes after each byte must not make each byte keep the memory of a large piece.
                return output.compacted()
            }
            silence += before - input.readableBytes
            guard silence <= Self.maxSilence else {
                throw DirectHTTPError(.undecodableBody, "the compressed body continues without content")
            }
            // Input was consumed without output, e.g. a header or an empty member: go on. If nothing was consumed, wait for
            // input.
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
                // zlib does not write to its input, but its C signature is not const.
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

    /// A gzip body may have several members (RFC 1952 §2.2), and the next one may arrive in a later piece.
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
        // 15 bits of window; +16 expects a gzip header. "deflate" means the zlib format, but some servers send raw deflate. The
        // low four bits of the first byte of the zlib format are always 8.
        let isRaw = coding == .deflate && (input.getInteger(at: input.readerIndex, as: UInt8.self) ?? 8) & 0x0f != 8
        guard CZlib_inflateInit2(&stream, coding == .gzip ? 31 : isRaw ? -15 : 15) == Z_OK else {
            throw DirectHTTPError(.undecodableBody, "zlib could not be started: out of memory")
        }
        isOpen = true
    }
}
