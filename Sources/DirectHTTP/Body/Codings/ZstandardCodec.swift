// SPDX-License-Identifier: Apache-2.0

#if Zstandard
import CZstd

/// Decodes Zstandard (RFC 8878) with libzstd, with a window of at most 8 MiB (RFC 9659 §3).
final class ZstandardCodec: ContentCodec {
    /// The logarithm of the largest window in bytes.
    private static let maxWindowLog: Int32 = 23

    /// Nil if there was no memory.
    private let decoder = ZSTD_createDCtx()
    private let isBounded: Bool

    init() {
        isBounded = ZSTD_isError(ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, Self.maxWindowLog)) == 0
    }

    deinit { ZSTD_freeDCtx(decoder) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> CodecStep {
        guard let decoder, isBounded else {
            return CodecStep(read: 0, written: 0, state: .failed("zstd could not be started: out of memory"))
        }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(decoder, &target, &source)
        let state: CodecStep.State
        if ZSTD_isError(result) != 0 {
            state = .failed(reason(result))
        } else if result == 0 {
            // A frame is complete. The library starts the next frame automatically.
            state = .ended
        } else {
            state = target.pos == target.size ? .hasOutput : .needsInput
        }
        return CodecStep(read: source.pos, written: target.pos, state: state)
    }

    /// Frames begin with 0x28, and those that are skipped with 0x50 to 0x5f (RFC 8878 §3.1).
    func beginMember(with byte: UInt8) -> Bool { byte == 0x28 || 0x50...0x5f ~= byte }

    private func reason(_ result: Int) -> String {
        ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge
            ? "the zstd body needs a window of more than \(1 << (Self.maxWindowLog - 20)) MiB"
            : ContentCoding.zstandard.mismatch
    }
}
#endif
