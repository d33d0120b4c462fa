// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import NIOCore

// Processes the peer's frames (RFC 9113 §5.1, §6): here heads and bodies, and the others in `HTTP2Connection+Control.swift`.
extension HTTP2Connection {
    /// Takes bytes from the peer; a server checks the client's preface first.
    package mutating func feed(_ bytes: ByteBuffer) throws(HTTP2ConnectionError) {
        var bytes = bytes
        let length = min(preface.count, bytes.readableBytes)
        if length > 0 {
            // RFC 9113 §3.4.
            guard let start = bytes.readBytes(length: length), preface.starts(with: start) else {
                throw HTTP2ConnectionError(.protocolError, "it does not begin with the preface of HTTP/2")
            }
            preface = preface.dropFirst(length)
        }
        reader.feed(bytes)
    }

    /// The next event; nil if more bytes are needed.
    package mutating func next(now: NIODeadline) throws(HTTP2ConnectionError) -> Event? {
        while let frame = try reader.next() {
            let event: Event?
            switch frame {
            case .data(let id, let piece, let charged, let endStream):
                event = try takeData(id, piece, charged: charged, endStream: endStream, now: now)
            case .headers(let id, let block, let endStream):
                event = try takeHeaders(id, block, endStream: endStream, now: now)
            case .frame(let header, let payload):
                event = try take(header, payload, now: now)
            }
            if let event { return event }
        }
        return nil
    }

    private mutating func takeHeaders(
        _ id: UInt32,
        _ block: ByteBuffer,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        let index = streams.index(forKey: id)
        let isNew = role == .server && id % 2 == 1 && id > lastPeerID
        let hasRoom = streams.count < limits.streams && heldBytes <= limits.heldBytes
        let isWanted = index != nil || isNew && hasRoom
        let fields = try read(block, isWanted: isWanted)
        if let index { return try takeHeaders(id, at: index, fields, endStream: endStream, now: now) }
        guard isNew else {
            try floodGuard.countEmptyFrame(now: now)
            try checkClosed(id)
            return nil
        }
        lastPeerID = id
        guard isWanted, fields.excess != nil || fields.headFault == nil && fields.allows(endStream: endStream) else {
            try floodGuard.countEmptyFrame(now: now)
            refuse(id, isWanted ? .protocolError : .refusedStream)
            return nil
        }
        streams[id] = Stream(
            hasHead: true,
            rest: fields.excess == nil ? fields.contentLength : nil,
            isRemoteEnded: endStream,
            receiveWindow: HTTP2ReceiveWindow(limits.streamWindow),
            sendWindow: initialSendWindow
        )
        return fields.excess == nil ? .head(stream: id, fields, endStream: endStream) : tooLarge(id, fields)
    }

    private func tooLarge(_ id: UInt32, _ fields: HTTP2HeaderBlock) -> Event {
        .tooLarge(stream: id, fieldLimit: fields.excess == .count ? limits.fields : nil)
    }

    /// Reads a header block, even if its fields are not wanted: the compression state belongs to the connection.
    private mutating func read(_ block: ByteBuffer, isWanted: Bool) throws(HTTP2ConnectionError) -> HTTP2HeaderBlock {
        if let last = lastBlock.content(of: block) {
            decoder.insert(last.insertions)
            return last.fields
        }
        var fields = HTTP2HeaderBlock(isRequest: role == .server)
        try decoder.decode(block) { if isWanted { fields.take($0) } }
        fields.excess = decoder.excess
        if isWanted, let insertions = decoder.insertions {
            lastBlock.note(block, (fields, insertions))
        } else {
            lastBlock.forget()
        }
        return fields
    }

    /// Takes a header block of an open stream: an informational response, the final head, or trailers.
    private mutating func takeHeaders(
        _ id: UInt32,
        at index: Dictionary<UInt32, Stream>.Index,
        _ fields: HTTP2HeaderBlock,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        guard !streams.values[index].isRemoteEnded else {
            return try fail(id, code: .streamClosed, message: "a header block follows the end of the stream", now: now)
        }
        guard fields.excess == nil else {
            let failure = try fail(id, code: .enhanceYourCalm, message: "trailers exceed the limits", now: now)
            return role == .client ? tooLarge(id, fields) : failure
        }
        guard !streams.values[index].hasHead else {
            try floodGuard.countEmptyFrame(now: now)
            guard endStream else {
                return try fail(id, code: .protocolError, message: "a second header block in the body", now: now)
            }
            if let fault = fields.trailerFault {
                _ = try fail(id, code: .protocolError, message: fault, now: now)
                return .malformedTrailers(stream: id, fault)
            }
            if let fault: Event = try end(id, at: index, now: now) { return fault }
            return .trailers(stream: id, fields.fields)
        }
        if let fault = fields.headFault { return try fail(id, code: .protocolError, message: fault, now: now) }
        let status = fields.status ?? 0
        guard status >= 200 else {
            streams.values[index].informationalCount += 1
            guard !endStream, status != 101 else {
                let message = endStream ? "the response ends before its final status" : "HTTP/2 has no status 101"
                return try fail(id, code: .protocolError, message: message, now: now)
            }
            guard streams.values[index].informationalCount <= Self.maxInformational else {
                return try fail(id, code: .protocolError, message: "too many informational responses", now: now)
            }
            return .informational(stream: id, fields)
        }
        streams.values[index].hasHead = true
        // There is at most one final head per request, and a response may consist of nothing else.
        floodGuard.resetEmptyFrames()
        // The length of DATA must match Content-Length, if the response can have a body (RFC 9113 §8.1.1).
        let hasBody = streams.values[index].mayHaveBody && status != 204 && status != 304
        streams.values[index].rest = hasBody ? fields.contentLength : 0
        if endStream, let fault: Event = try end(id, at: index, now: now) { return fault }
        return .head(stream: id, fields, endStream: endStream)
    }

    private mutating func takeData(
        _ id: UInt32,
        _ piece: ByteBuffer,
        charged: Int,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        guard id != 0 else { throw HTTP2ConnectionError(.protocolError, "DATA on stream 0") }
        guard charged <= receiveWindow else {
            throw HTTP2ConnectionError(.flowControlError, "more DATA than was allowed")
        }
        receiveWindow -= charged
        uncredited += charged
        creditConnection()
        guard let index = streams.index(forKey: id) else {
            // Data that was in flight when we reset the stream is neither progress nor waste.
            try checkClosed(id)
            if piece.readableBytes == 0 { try floodGuard.countEmptyFrame(now: now) }
            return nil
        }
        guard !streams.values[index].isRemoteEnded else {
            return try fail(id, code: .streamClosed, message: "DATA follows the end of the stream", now: now)
        }
        guard streams.values[index].hasHead else {
            return try fail(id, code: .protocolError, message: "DATA comes before the header block", now: now)
        }
        guard streams.values[index].receiveWindow.take(charged) else {
            throw HTTP2ConnectionError(.flowControlError, "more DATA than was allowed for a stream")
        }
        if let rest = streams.values[index].rest {
            guard piece.readableBytes <= rest else {
                return try fail(id, code: .protocolError, message: Self.tooLong, now: now)
            }
            streams.values[index].rest = rest - Int64(piece.readableBytes)
        }
        // For a server, DATA is not progress. Only a complete, answered request is.
        if piece.readableBytes == 0, !endStream {
            try floodGuard.countEmptyFrame(now: now)
        } else if role == .client {
            floodGuard.resetEmptyFrames()
        }
        if endStream, let fault: Event = try end(id, at: index, now: now) { return fault }
        // A server opens the window for one body only. Padding uses it too (RFC 9113 §6.1), and would stall the end of the body.
        let padding = charged - piece.readableBytes
        if role == .server, padding > 0 { allow(padding, on: id) }
        return .data(stream: id, piece, endStream: endStream)
    }

    private static let tooLong = "the body is longer than Content-Length, or the method or status allows none"

    /// Ends the peer's side of a stream. Returns an event if its body is too short.
    private mutating func end(
        _ id: UInt32,
        at index: Dictionary<UInt32, Stream>.Index,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        guard streams.values[index].rest ?? 0 == 0 else {
            return try fail(id, code: .protocolError, message: "the body is shorter than Content-Length", now: now)
        }
        streams.values[index].isRemoteEnded = true
        if streams.values[index].isLocalEnded { remove(id) }
        return nil
    }

    /// Resets a stream after a violation. It counts as a cancellation: clients may cause resets (CVE-2025-8671).
    mutating func fail(
        _ id: UInt32,
        code: HTTP2ErrorCode,
        message: String,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event {
        if role == .server { try floodGuard.countCancellation(now: now) }
        reset(id, code)
        return .failed(stream: id, message)
    }

    /// Checks a frame for a stream that is not in the table but would have to be open.
    private func checkClosed(_ id: UInt32) throws(HTTP2ConnectionError) {
        try checkOpened(id)
        guard id <= lastReset else { throw HTTP2ConnectionError(.streamClosed, "a frame for a stream that has ended") }
    }

    /// Rejects a frame for an idle stream, on which only HEADERS and PRIORITY are allowed (RFC 9113 §5.1).
    func checkOpened(_ id: UInt32) throws(HTTP2ConnectionError) {
        guard id % 2 == 1, role == .client ? id < nextID : id <= lastPeerID else {
            throw HTTP2ConnectionError(.protocolError, "a frame for a stream that is not open")
        }
    }

    /// Reopens the connection's window for all received data. The streams' windows bound the buffered data.
    private mutating func creditConnection() {
        guard uncredited >= limits.connectionWindow / 2 else { return }
        out.writeWindowUpdate(uncredited)
        receiveWindow += uncredited
        uncredited = 0
    }
}
