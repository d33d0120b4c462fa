// SPDX-License-Identifier: Apache-2.0

import CZlib

/// Decodes gzip and deflate with zlib, which needs 44 KiB for a body.
final class ZlibCodec: ContentCodec {
    private let coding: ContentCoding
    private var stream = z_stream()
    private var isOpen = false

    init(_ coding: ContentCoding) { self.coding = coding }

    deinit {
        if isOpen { inflateEnd(&stream) }
    }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> CodecStep {
        guard open(first: input.first) else {
            return CodecStep(read: 0, written: 0, state: .failed("zlib could not be started: out of memory"))
        }
        // zlib does not write to its input, but its C signature is not const.
        stream.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        stream.avail_in = UInt32(min(input.count, 1 << 30))
        stream.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.avail_out = UInt32(min(output.count, 1 << 30))
        let (offered, space) = (stream.avail_in, stream.avail_out)
        let status = inflate(&stream, Z_NO_FLUSH)
        let state: CodecStep.State =
            switch status {
            case Z_OK, Z_BUF_ERROR: stream.avail_out == 0 ? .hasOutput : .needsInput
            case Z_STREAM_END: .ended
            default: .failed(coding.mismatch)
            }
        return CodecStep(read: Int(offered - stream.avail_in), written: Int(space - stream.avail_out), state: state)
    }

    func beginMember(with byte: UInt8) -> Bool {
        guard coding == .gzip, byte == 0x1f else { return false }
        inflateReset(&stream)
        return true
    }

    private func open(first: UInt8?) -> Bool {
        guard !isOpen else { return true }
        // 15 bits of window; +16 expects a gzip header. "deflate" means the zlib format, but some servers send raw deflate. The
        // low four bits of the first byte of the zlib format are always 8.
        let isRaw = coding == .deflate && (first ?? 8) & 0x0f != 8
        isOpen = CZlib_inflateInit2(&stream, coding == .gzip ? 31 : isRaw ? -15 : 15) == Z_OK
        return isOpen
    }
}
