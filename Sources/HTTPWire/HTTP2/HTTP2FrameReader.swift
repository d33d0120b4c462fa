// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// Splits the bytes of a connection into frames (RFC 9113 §4). Performs no I/O; memory is bounded and time is linear.
///
/// A header block is returned whole, however many frames carry it. DATA is returned as it arrives, possibly in several pieces per
/// frame, so that bodies are neither delayed nor copied.
struct HTTP2FrameReader {
    typealias Header = HTTP2Frame.Header

    enum Event: Equatable {
        /// A piece of a DATA frame. `charged` is its flow-control cost in bytes, including padding (RFC 9113 §6.1).
        case data(stream: UInt32, ByteBuffer, charged: Int, endStream: Bool)
        case headers(stream: UInt32, block: ByteBuffer, endStream: Bool)
        /// A complete frame of another type.
        case frame(Header, ByteBuffer)
    }

    private enum State {
        case header
        case payload(Header)
        /// The remaining bytes of a DATA frame without padding.
        case data(Header, left: Int)
    }

    /// The maximum size of a header block, over all its frames, in bytes.
    let maxBlock: Int
    private var state = State.header
    private var buffer = ByteBuffer()
    /// An incomplete header block. Only its CONTINUATION frames may follow (RFC 9113 §6.10).
    private var block: (stream: UInt32, bytes: ByteBuffer, endStream: Bool, frames: Int)?
    private var hasBegun = false

    /// The maximum number of CONTINUATION frames per block. It bounds empty ones, which add no bytes.
    private static let maxBlockFrames = 64

    init(maxBlock: Int) {
        self.maxBlock = maxBlock
    }

    mutating func feed(_ bytes: ByteBuffer) { buffer.feed(bytes) }

    /// The allocated size of the buffer, in bytes.
    var capacity: Int { buffer.storageCapacity }

    /// The next event; nil if more bytes are needed.
    mutating func next() throws(HTTP2ConnectionError) -> Event? {
        while true {
            switch state {
            case .header:
                guard let header = try readHeader() else {
                    // An idle connection holds no memory.
                    if buffer.readableBytes == 0 { buffer = ByteBuffer() }
                    return nil
                }
                let streams = header.kind == .data && !header.has(HTTP2Frame.Flags.padded) && header.length > 0
                state = streams ? .data(header, left: header.length) : .payload(header)
            case .data(let header, let left):
                let length = min(left, buffer.readableBytes)
                guard length > 0, let piece = buffer.readSlice(length: length) else { return nil }
                let isLast = length == left
                state = isLast ? .header : .data(header, left: left - length)
                let endStream = isLast && header.has(HTTP2Frame.Flags.endStream)
                return .data(stream: header.stream, piece, charged: length, endStream: endStream)
            case .payload(let header):
                guard let payload = buffer.readSlice(length: header.length) else { return nil }
                state = .header
                if let event = try event(header, payload) { return event }
            }
        }
    }

    private mutating func readHeader() throws(HTTP2ConnectionError) -> Header? {
        guard
            let (first, flags, stream) = buffer.readMultipleIntegers(endianness: .big, as: (UInt32, UInt8, UInt32).self)
        else { return nil }
        let header = Header(
            length: Int(first >> 8),
            kind: HTTP2Frame.Kind(rawValue: UInt8(truncatingIfNeeded: first)),
            flags: flags,
            stream: stream & 0x7fff_ffff
        )
        // The first frame must be SETTINGS (RFC 9113 §3.4). This also detects a peer that uses another protocol, whose first
        // bytes are not a length.
        guard hasBegun || header.kind == .settings && !header.has(HTTP2Frame.Flags.acknowledgement) else {
            throw HTTP2ConnectionError(.protocolError, "it does not begin with SETTINGS; it may use another protocol")
        }
        guard header.length <= HTTP2Frame.defaultMaxLength else {
            throw HTTP2ConnectionError(.frameSizeError, "a frame of \(header.length) bytes was not allowed")
        }
        hasBegun = true
        if let block, header.kind != .continuation || header.stream != block.stream {
            throw HTTP2ConnectionError(.protocolError, "another frame interrupts a header block")
        }
        return header
    }

    /// The event of a complete frame; nil if its header block continues.
    private mutating func event(_ header: Header, _ payload: ByteBuffer) throws(HTTP2ConnectionError) -> Event? {
        var payload = payload
        switch header.kind {
        case .data:
            try unpad(header, &payload)
            let endStream = header.has(HTTP2Frame.Flags.endStream)
            return .data(stream: header.stream, payload, charged: header.length, endStream: endStream)
        case .headers:
            try unpad(header, &payload)
            if header.has(HTTP2Frame.Flags.priority) {
                guard let priority = payload.readSlice(length: 5) else {
                    throw HTTP2ConnectionError(.frameSizeError, "HEADERS is too short for its priority")
                }
                try header.checkDependency(priority)
            }
            block = (header.stream, payload, header.has(HTTP2Frame.Flags.endStream), 0)
            return try finishBlock(header)
        case .continuation:
            guard block != nil else {
                throw HTTP2ConnectionError(.protocolError, "CONTINUATION does not follow a header block")
            }
            block?.bytes.writeBuffer(&payload)
            block?.frames += 1
            return try finishBlock(header)
        default:
            return .frame(header, payload)
        }
    }

    private mutating func finishBlock(_ header: Header) throws(HTTP2ConnectionError) -> Event? {
        guard let block else { return nil }
        guard block.bytes.readableBytes <= maxBlock else {
            let message = "a header block is larger than \(maxBlock) bytes"
            throw HTTP2ConnectionError(.enhanceYourCalm, message, isTooLarge: true)
        }
        guard block.frames <= Self.maxBlockFrames else {
            let message = "a header block has more than \(Self.maxBlockFrames) CONTINUATION frames"
            throw HTTP2ConnectionError(.enhanceYourCalm, message)
        }
        guard header.has(HTTP2Frame.Flags.endHeaders) else { return nil }
        self.block = nil
        return .headers(stream: block.stream, block: block.bytes, endStream: block.endStream)
    }

    private func unpad(_ header: Header, _ payload: inout ByteBuffer) throws(HTTP2ConnectionError) {
        guard header.has(HTTP2Frame.Flags.padded) else { return }
        guard let padding = payload.readInteger(as: UInt8.self), Int(padding) <= payload.readableBytes else {
            throw HTTP2ConnectionError(.protocolError, "padding is longer than its frame")
        }
        payload.moveWriterIndex(to: payload.writerIndex - Int(padding))
    }
}
