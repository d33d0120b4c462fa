// SPDX-License-Identifier: Apache-2.0

import CZlib
import HTTPWire
import NIOCore

/// The client's side of permessage-deflate (RFC 7692). Not Sendable: it is confined to the event loop of its socket.
final class WebSocketDeflate {
    /// The parameters that both sides agreed on.
    struct Agreement: Equatable {
        /// `server_no_context_takeover`: the server starts each message with an empty window.
        var serverForgets = false
        /// `client_no_context_takeover`: the client does so.
        var clientForgets = false

        /// The offered extension. It does not include a smaller client window: zlib does not support windows of 8 bits.
        static let offer = "permessage-deflate"

        /// Parses the server's Sec-WebSocket-Extensions field (RFC 7692 §7.1); nil if it differs from the offer.
        init?(fieldValue: String) {
            let parts = fieldValue.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingBlanks() }
            guard parts[0] == "permessage-deflate" else { return nil }
            var seen: Set<Substring> = []
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingBlanks() }
                guard let name = pair.first, seen.insert(name).inserted else { return nil }
                switch (name, pair.count) {
                case ("server_no_context_takeover", 1): serverForgets = true
                case ("client_no_context_takeover", 1): clientForgets = true
                case ("server_max_window_bits", 2):
                    // The size is not used: a window larger than the server's can decode its data too.
                    let digits = pair[1].filter { $0 != "\"" }
                    guard let bits = Int(digits), (8...15).contains(bits), digits.first != "0" else { return nil }
                default: return nil
                }
            }
        }
    }

    private let agreement: Agreement
    private let maxBytes: Int
    private var inflating = z_stream()
    private var deflating = z_stream()
    private var canInflate = false
    private var canDeflate = false
    /// The end of a message's last block, which is not sent (RFC 7692 §7.2.1).
    private static let tail: [UInt8] = [0, 0, 0xff, 0xff]
    private static let pieceSize = 16 * 1024
    /// The maximum number of deflate streams in a message. Each may have two bytes only, and costs a reset of zlib.
    private static let maxStreams = 1_024

    init(_ agreement: Agreement, maxBytes: Int) {
        self.agreement = agreement
        self.maxBytes = maxBytes
    }

    deinit {
        if canInflate { inflateEnd(&inflating) }
        if canDeflate { deflateEnd(&deflating) }
    }

    /// Decompresses a message in pieces of bounded size.
    func decompress(_ message: ByteBuffer) throws(WebSocketViolation) -> ByteBuffer {
        if !canInflate {
            // Raw deflate without a zlib header, with the largest window.
            guard CZlib_inflateInit2(&inflating, -15) == Z_OK else { throw Self.noMemory }
            canInflate = true
        }
        var input = message
        input.writeBytes(Self.tail)
        var output = ByteBuffer()
        var isStuck = false
        var streams = 0
        while input.readableBytes > 0, !isStuck {
            let before = (input.readableBytes, output.readableBytes)
            let status = step(&inflating, input: &input, output: &output) { inflate(&$0, Z_SYNC_FLUSH) }
            // A block with BFINAL set ends the deflate stream; the next one is a new stream (RFC 7692 §7.2.3.5).
            if status == Z_STREAM_END {
                streams += 1
                inflateReset(&inflating)
            }
            guard status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END, streams <= Self.maxStreams else {
                throw WebSocketViolation("it sent data that cannot be decompressed", code: .invalidData)
            }
            guard output.readableBytes <= maxBytes else {
                throw WebSocketViolation("it sent a message of more than \(maxBytes) bytes", code: .messageTooBig)
            }
            isStuck = before == (input.readableBytes, output.readableBytes)
        }
        guard input.readableBytes == 0 else {
            throw WebSocketViolation("it sent data that cannot be decompressed", code: .invalidData)
        }
        if agreement.serverForgets { inflateReset(&inflating) }
        return output
    }

    /// Compresses a message; nil if zlib cannot be initialized. The message is then sent uncompressed.
    func compress(_ message: ByteBuffer) -> ByteBuffer? {
        // RFC 7692 §7.2.3.6. zlib writes nothing for a second flush without input.
        guard message.readableBytes > 0 else { return ByteBuffer(bytes: [0]) }
        if !canDeflate {
            guard CZlib_deflateInit2(&deflating, -15) == Z_OK else { return nil }
            canDeflate = true
        }
        var input = message
        var output = ByteBuffer()
        var room = 0
        repeat {
            let before = output.readableBytes
            _ = step(&deflating, input: &input, output: &output) { deflate(&$0, Z_SYNC_FLUSH) }
            room = Self.pieceSize - (output.readableBytes - before)
        } while input.readableBytes > 0 || room == 0
        if agreement.clientForgets { deflateReset(&deflating) }
        output.moveWriterIndex(to: output.writerIndex - Self.tail.count)
        return output
    }

    /// Calls zlib once, with room for one piece of output.
    private func step(
        _ stream: inout z_stream,
        input: inout ByteBuffer,
        output: inout ByteBuffer,
        call: (inout z_stream) -> Int32
    ) -> Int32 {
        var status = Z_OK
        var read = 0
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.pieceSize) { space in
            input.withUnsafeReadableBytes { bytes in
                // zlib does not write to its input, but its C signature is not const.
                stream.next_in = UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(
                    to: UInt8.self
                )
                let offered = UInt32(min(bytes.count, 1 << 30))
                stream.avail_in = offered
                stream.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.avail_out = UInt32(Self.pieceSize)
                status = call(&stream)
                read = Int(offered - stream.avail_in)
            }
            return Self.pieceSize - Int(stream.avail_out)
        }
        input.moveReaderIndex(forwardBy: read)
        return status
    }

    private static let noMemory = WebSocketViolation("zlib could not be started: out of memory", code: .internalError)
}
