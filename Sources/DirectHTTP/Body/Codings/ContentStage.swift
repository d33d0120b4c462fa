// SPDX-License-Identifier: Apache-2.0

import HTTPWire
import NIOCore

/// Decodes one content coding (RFC 9110 §8.4.1) in pieces of bounded size, so that a small body that expands a thousandfold is
/// never in memory as a whole.
///
/// Not Sendable: it belongs to the only reader of the body.
final class ContentStage {
    /// The maximum size of a decoded piece in bytes.
    static let pieceSize = 64 * 1024
    /// How many coded bytes may give no output. Otherwise empty blocks would keep the reader from being cancelled.
    static let maxSilence = 1 << 20

    private let coding: ContentCoding
    private let codec: any ContentCodec
    private var input = ByteBuffer()
    /// Whether a member is complete and no other has begun.
    private(set) var isFinished = false
    /// Whether bytes follow the last member that do not start another.
    private var hasTrailer = false
    /// Whether input was added. Empty input is an empty body, not an error.
    private(set) var hasStarted = false
    /// Whether the codec may hold output that did not fit into the last piece.
    private var hasOutput = false
    /// Coded bytes since the last output.
    private var silence = 0

    init(_ coding: ContentCoding) {
        self.coding = coding
        codec = coding.makeCodec()
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
        while input.readableBytes > 0 || hasOutput {
            if isFinished, !beginNextMember() {
                // Discard bytes after the end, so that they do not accumulate. A peer may send them forever.
                silence += input.readableBytes
                input.clear()
                guard silence <= Self.maxSilence else {
                    throw DirectHTTPError(.undecodableBody, "bytes without end follow the compressed body")
                }
                return nil
            }
            let before = input.readableBytes
            let output = try decodePiece()
            if output.readableBytes > 0 {
                silence = 0
                // A server that flushes after each byte must not make each byte keep the memory of a large piece.
                return output.compacted()
            }
            silence += before - input.readableBytes
            guard silence <= Self.maxSilence else {
                throw DirectHTTPError(.undecodableBody, "the compressed body continues without content")
            }
            // Input without output, e.g. a header or an empty member: go on. If nothing was consumed, wait for input.
            guard input.readableBytes < before else { return nil }
        }
        return nil
    }

    private func decodePiece() throws(DirectHTTPError) -> ByteBuffer {
        var output = ByteBuffer()
        var step = CodecStep(read: 0, written: 0, state: .needsInput)
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { space in
            step = input.withUnsafeReadableBytes { bytes in
                codec.decode(bytes, into: UnsafeMutableRawBufferPointer(rebasing: space.prefix(Self.pieceSize)))
            }
            return step.written
        }
        input.moveReaderIndex(forwardBy: step.read)
        hasOutput = false
        switch step.state {
        case .needsInput: break
        case .hasOutput: hasOutput = true
        case .ended: isFinished = true
        case .failed(let reason): throw DirectHTTPError(.undecodableBody, reason)
        }
        return output
    }

    /// A body may have several members (RFC 1952 §2.2) or frames (RFC 8878 §3), and the next one may arrive in a later piece.
    private func beginNextMember() -> Bool {
        guard !hasTrailer, let byte = input.getInteger(at: input.readerIndex, as: UInt8.self),
            codec.beginMember(with: byte)
        else {
            hasTrailer = true
            return false
        }
        isFinished = false
        return true
    }
}
