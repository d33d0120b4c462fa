// SPDX-License-Identifier: Apache-2.0

#if Brotli
import CBrotli

/// Decodes brotli (RFC 7932) with libbrotlidec. The window of a body has at most 16 MiB (§9.1); larger ones, which are an
/// extension of the library, are refused.
final class BrotliCodec: ContentCodec {
    /// Nil if there was no memory.
    private let decoder = BrotliDecoderCreateInstance(nil, nil, nil)

    deinit { BrotliDecoderDestroyInstance(decoder) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> CodecStep {
        guard let decoder else {
            return CodecStep(read: 0, written: 0, state: .failed("brotli could not be started: out of memory"))
        }
        var (inputLeft, space) = (input.count, output.count)
        var nextInput = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var nextOutput = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(decoder, &inputLeft, &nextInput, &space, &nextOutput, nil)
        let state: CodecStep.State =
            switch result {
            case BROTLI_DECODER_RESULT_SUCCESS: .ended
            case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: .needsInput
            case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: .hasOutput
            default: .failed(ContentCoding.brotli.mismatch)
            }
        return CodecStep(read: input.count - inputLeft, written: output.count - space, state: state)
    }

    /// A brotli stream ends a body; there are no members.
    func beginMember(with byte: UInt8) -> Bool { false }
}
#endif
