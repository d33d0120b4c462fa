// SPDX-License-Identifier: Apache-2.0

import NIOCore

// What a client's frames do (RFC 9113 §6).
extension HTTP2ServerHandler {
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

    private func takeHeaders(
        _ id: UInt32,
        _ block: ByteBuffer,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        guard id % 2 == 1 else { throw HTTP2ConnectionError(.protocolError, "a client opens odd streams") }
        var head = HTTP2RequestHead(stream: id)
        try decoder.decode(block) { head.take($0) }
        guard id > lastID else { return try takeTrailers(id, endStream, now) }
        lastID = id
        guard streams.count < limits.streams else {
            try guardian.waste(now: now)
            return out.writeReset(.refusedStream, stream: id)
        }
        guard let request = head.request else {
            try guardian.waste(now: now)
            return out.writeReset(.protocolError, stream: id)
        }
        streams[id] = Stream(request: request, sendWindow: initialSendWindow, since: now)
        if endStream { hand(request) }
    }

    /// Trailers say nothing that we read, but they end a request.
    private func takeTrailers(_ id: UInt32, _ endStream: Bool, _ now: NIODeadline) throws(HTTP2ConnectionError) {
        try guardian.waste(now: now)
        guard let request = streams[id]?.request else {
            if endStream { takeOverrun(id, endStream: true) }
            return
        }
        if endStream { hand(request) } else { end(id, .protocolError) }
    }

    private func takeData(
        _ id: UInt32,
        _ piece: ByteBuffer,
        charged: Int,
        endStream: Bool,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        try checkOpened(id)
        uncredited += charged
        guard uncredited <= HTTP2Frame.defaultWindow else {
            throw HTTP2ConnectionError(.flowControl, "more DATA than was allowed")
        }
        if uncredited >= HTTP2Frame.defaultWindow / 2 {
            out.writeWindowUpdate(uncredited)
            uncredited = 0
        }
        if piece.readableBytes == 0, !endStream { try guardian.waste(now: now) }
        guard let size = streams[id]?.request?.body.count else { return takeOverrun(id, endStream: endStream) }
        // A stream's window is not opened again before this: content that needs it is larger than what is read.
        if size + piece.readableBytes > limits.body {
            streams[id]?.request?.isTooLarge = true
            streams[id]?.isOverrun = !endStream
            handOver(id)
            // Whoever has read the reply sends no more, and whoever does is stopped then. Together with the reply RST_STREAM
            // would do (RFC 9113 §8.1), but curl 7.88 makes a fault of it that hides the reply.
            if !endStream { out.writeWindowUpdate(HTTP2Frame.defaultMaximumLength, stream: id) }
            return
        }
        // In place: a second reference would copy the whole content at each frame.
        streams[id]?.request?.body.append(contentsOf: piece.readableBytesView)
        if endStream { handOver(id) }
    }

    private func handOver(_ id: UInt32) {
        guard let request = streams[id]?.request else { return }
        hand(request)
    }

    /// More of a request that was answered without it.
    private func takeOverrun(_ id: UInt32, endStream: Bool) {
        guard let stream = streams[id], stream.isOverrun else { return }
        guard stream.unsent.isEmpty else {
            if endStream { streams[id]?.isOverrun = false }
            return
        }
        streams[id] = nil
        if !endStream { out.writeReset(.noError, stream: id) }
    }

    private func take(
        _ header: HTTP2Frame.Header,
        _ payload: ByteBuffer,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) {
        switch header.kind {
        case .settings:
            try guardian.waste(now: now)
            try takeSettings(header, payload)
        case .ping:
            try guardian.waste(now: now)
            let value = try header.ping(payload)
            if !header.has(HTTP2Frame.Flags.acknowledgement) { out.writePing(value, isAcknowledgement: true) }
        case .resetStream:
            try guardian.waste(now: now)
            try checkOpened(header.stream)
            _ = try header.resetCode(payload)
            if let stream = streams[header.stream], stream.request == nil { try guardian.cancellation(now: now) }
            end(header.stream)
        case .windowUpdate:
            try guardian.waste(now: now)
            try takeWindow(header.stream, header.windowIncrement(payload))
        case .pushPromise: throw HTTP2ConnectionError(.protocolError, "a client cannot push")
        case .priority, .goAway, nil: try guardian.waste(now: now)
        case .data, .headers, .continuation: break
        }
    }

    private func takeSettings(_ header: HTTP2Frame.Header, _ payload: ByteBuffer) throws(HTTP2ConnectionError) {
        guard !header.has(HTTP2Frame.Flags.acknowledgement) else { return }
        guard header.stream == 0 else { throw HTTP2ConnectionError(.protocolError, "SETTINGS of a stream") }
        let settings = try HTTP2Settings(payload, mayAllowPush: true)
        if let size = settings.headerTableSize { encoder.setMaximumTableSize(size) }
        if let window = settings.initialWindow {
            let change = window - initialSendWindow
            initialSendWindow = window
            for id in streams.keys { try widen(id, by: change) }
        }
        out.writeFrame(.settings, flags: HTTP2Frame.Flags.acknowledgement, length: 0)
    }

    private func takeWindow(_ id: UInt32, _ increment: Int) throws(HTTP2ConnectionError) {
        guard increment > 0 else { throw HTTP2ConnectionError(.protocolError, "a window is opened by nothing") }
        guard id != 0 else {
            guard let window = HTTP2Frame.window(sendWindow, changedBy: increment) else {
                throw HTTP2ConnectionError(.flowControl, "a window that cannot be")
            }
            sendWindow = window
            return
        }
        try checkOpened(id)
        try widen(id, by: increment)
    }

    private func widen(_ id: UInt32, by change: Int) throws(HTTP2ConnectionError) {
        guard let old = streams[id]?.sendWindow else { return }
        guard let window = HTTP2Frame.window(old, changedBy: change) else {
            throw HTTP2ConnectionError(.flowControl, "a window that cannot be")
        }
        streams[id]?.sendWindow = window
        queue(id)
    }

    /// RFC 9113 §5.1: of streams that nobody opened there can be no frames.
    private func checkOpened(_ id: UInt32) throws(HTTP2ConnectionError) {
        guard id % 2 == 1, id <= lastID else {
            throw HTTP2ConnectionError(.protocolError, "a frame for a stream that nobody opened")
        }
    }
}
