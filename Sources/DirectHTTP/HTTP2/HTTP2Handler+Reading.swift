// SPDX-License-Identifier: Apache-2.0

import NIOCore

// What frames do (RFC 9113 §6).
extension HTTP2Handler {
    func take(_ event: HTTP2FrameReader.Event, now: NIODeadline) throws(HTTP2ConnectionError) {
        switch event {
        case .data(let id, let piece, let charged, let endStream):
            try takeData(id, piece, charged: charged, endStream: endStream, now: now)
        case .headers(let id, let block, let endStream):
            try takeHeaders(id, block, endStream: endStream, now: now)
        case .frame(let header, let payload):
            try take(header, payload, now: now)
        }
    }

    private func takeData(
        _ id: UInt32,
        _ piece: ByteBuffer,
        charged: Int,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        try checkOpened(id)
        guard charged <= receiveWindow else { throw HTTP2ConnectionError(.flowControl, "more DATA than was allowed") }
        receiveWindow -= charged
        uncredited += charged
        if piece.readableBytes > 0 || endStream { guardian.progress() } else { try guardian.waste(now: now) }
        guard let stream = streams[id] else { return }
        guard stream.receiveWindow.take(charged) else {
            throw HTTP2ConnectionError(.flowControl, "more DATA than was allowed for a stream")
        }
        give(stream, now) { stream throws(DirectHTTPError) in try stream.take(piece, endStream: endStream) }
    }

    private func takeHeaders(
        _ id: UInt32,
        _ block: ByteBuffer,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        try checkOpened(id)
        let received = try headers.read(block)
        guard let stream = streams[id] else { return try guardian.waste(now: now) }
        // There are no more of them than requests allow, and a response may have nothing else.
        guardian.progress()
        give(stream, now) { stream throws(DirectHTTPError) in
            try stream.take(received, endStream: endStream, now: now)
        }
    }

    /// Gives a stream what came for it; what is wrong with that ends the stream and no other (RFC 9113 §5.4.2).
    private func give(
        _ stream: HTTP2Stream,
        _ now: NIODeadline,
        _ body: (HTTP2Stream) throws(DirectHTTPError) -> Void
    ) {
        stream.watch.note(now: now)
        do throws(DirectHTTPError) {
            try body(stream)
        } catch {
            if case .failure? = stream.pendingEnd { return }
            stream.pendingEnd = .failure(error)
            out.writeReset(.protocolError, stream: stream.id)
            stream.isRequestSent = true
        }
        touch(stream)
    }

    private func take(
        _ header: HTTP2Frame.Header,
        _ payload: ByteBuffer,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        var payload = payload
        switch header.kind {
        case .settings:
            try guardian.waste(now: now)
            try takeSettings(header, payload)
        case .ping:
            try guardian.waste(now: now)
            let value = try header.ping(payload)
            guard !header.has(HTTP2Frame.Flags.acknowledgement) else { return }
            try noteReply()
            out.writePing(value, isAcknowledgement: true)
        case .goAway:
            guard let (last, code) = payload.readMultipleIntegers(endianness: .big, as: (UInt32, UInt32).self) else {
                throw HTTP2ConnectionError(.frameSize, "GOAWAY is too short")
            }
            refuse(after: last & 0x7fff_ffff, HTTP2ErrorCode(rawValue: code))
        case .resetStream:
            try guardian.waste(now: now)
            try checkOpened(header.stream)
            takeReset(header.stream, try header.resetCode(payload))
        case .windowUpdate:
            try guardian.waste(now: now)
            try takeWindow(header.stream, header.windowIncrement(payload), now)
        case .pushPromise:
            throw HTTP2ConnectionError(.protocolError, "a push that was refused beforehand")
        case .priority, nil:
            try guardian.waste(now: now)
        case .data, .headers, .continuation:
            break
        }
    }

    private func takeSettings(_ header: HTTP2Frame.Header, _ payload: ByteBuffer) throws(HTTP2ConnectionError) {
        guard !header.has(HTTP2Frame.Flags.acknowledgement) else { return }
        guard header.stream == 0 else { throw HTTP2ConnectionError(.protocolError, "SETTINGS of a stream") }
        try noteReply()
        let settings = try HTTP2Settings(payload)
        if let size = settings.headerTableSize { encoder.setMaximumTableSize(size) }
        if let size = settings.maximumFrame { maximumFrame = min(size, HTTP2Stream.maximumUnsent) }
        if let window = settings.initialWindow {
            let change = window - initialSendWindow
            initialSendWindow = window
            for stream in streams.values {
                guard let window = HTTP2Frame.window(stream.sendWindow, changedBy: change) else {
                    throw HTTP2ConnectionError(.flowControl, "SETTINGS makes a window too large")
                }
                stream.sendWindow = window
                if change > 0 { queue(stream) }
            }
        }
        out.writeFrame(.settings, flags: HTTP2Frame.Flags.acknowledgement, length: 0)
        if let limit = settings.maximumStreams { self.limit(streams: limit) }
    }

    /// Counts the answers that the socket has no room for: a peer that asks and does not read fills our memory, even where what it
    /// sends between its questions is of use.
    private func noteReply() throws(HTTP2ConnectionError) {
        guard let context, !context.channel.isWritable else { return repliesInWait = 0 }
        repliesInWait += 1
        guard repliesInWait <= HTTP2FloodGuard.limit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "it does not read the answers that it asks for")
        }
    }

    private func takeReset(_ id: UInt32, _ code: HTTP2ErrorCode) {
        guard let stream = streams[id] else { return }
        // A response that is whole stays whole: NO_ERROR behind it only ends our upload (RFC 9113 §8.1).
        guard stream.pendingEnd == nil else {
            stream.isRequestSent = true
            return
        }
        // What was read before the reset is handed over with it.
        var error =
            code == .refusedStream
            // RFC 9113 §8.7: a refused stream was not processed.
            ? .unprocessed("the server refused the stream")
            : DirectHTTPError(.streamReset, "the server reset the stream: \(code)")
        error.wantsHTTP1 = code == .http11Required
        stream.pendingEnd = .failure(error)
        stream.isRequestSent = true
        touch(stream)
    }

    private func takeWindow(_ id: UInt32, _ increment: Int, _ now: NIODeadline) throws(HTTP2ConnectionError) {
        guard id != 0 else {
            guard increment > 0, let window = HTTP2Frame.window(sendWindow, changedBy: increment) else {
                throw HTTP2ConnectionError(.flowControl, "a window that cannot be")
            }
            sendWindow = window
            return
        }
        try checkOpened(id)
        guard let stream = streams[id] else { return }
        guard increment > 0, let window = HTTP2Frame.window(stream.sendWindow, changedBy: increment) else {
            return give(stream, now) { _ throws(DirectHTTPError) in throw .malformed("a window that cannot be") }
        }
        stream.sendWindow = window
        stream.watch.note(now: now)
        queue(stream)
    }

    /// RFC 9113 §5.1: of streams that nobody opened there can be no frames.
    private func checkOpened(_ id: UInt32) throws(HTTP2ConnectionError) {
        guard id % 2 == 1, id < nextID else {
            throw HTTP2ConnectionError(.protocolError, "a frame for a stream that nobody opened")
        }
    }

    // MARK: Windows

    /// Allows the peer to send more on a stream, where its reader keeps up.
    func credit(_ stream: HTTP2Stream) {
        guard streams[stream.id] != nil else { return }
        guard let credit = stream.receiveWindow.credit(isStalled: stream.isStalled) else { return }
        out.writeWindowUpdate(credit, stream: stream.id)
    }

    func creditConnection() {
        guard uncredited >= Self.connectionWindow / 2 else { return }
        out.writeWindowUpdate(uncredited)
        receiveWindow += uncredited
        uncredited = 0
    }
}
