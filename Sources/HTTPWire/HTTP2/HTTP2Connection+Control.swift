// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

// Processes frames other than heads and bodies (RFC 9113 §6.3 to §6.9).
extension HTTP2Connection {
    mutating func take(
        _ header: HTTP2Frame.Header,
        _ payload: ByteBuffer,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        try floodGuard.countEmptyFrame(now: now)
        switch header.kind {
        case .settings:
            return try takeSettings(header, payload)
        case .ping:
            guard header.stream == 0 else { throw HTTP2ConnectionError(.protocolError, "PING on a stream") }
            let value: UInt64 = try header.integer(payload, of: "PING")
            guard !header.has(HTTP2Frame.Flags.acknowledgement) else { return nil }
            try noteReply()
            out.writePing(value, isAcknowledgement: true)
        case .goAway:
            let (last, code) = try header.goAway(payload)
            // The owner removes the streams after the last one.
            lastReset = max(lastReset, nextID - 1)
            return .goAway(last: last, code)
        case .resetStream:
            let code = try HTTP2ErrorCode(rawValue: header.integer(payload, of: "RST_STREAM"))
            try checkOpened(header.stream)
            guard streams[header.stream] != nil else { return nil }
            if role == .server {
                try floodGuard.countCancellation(now: now)
            } else {
                // A proxy may still send frames for this stream.
                lastReset = max(lastReset, header.stream)
            }
            remove(header.stream)
            return .reset(stream: header.stream, code)
        case .windowUpdate:
            let increment: UInt32 = try header.integer(payload, of: "WINDOW_UPDATE")
            return try takeWindow(header.stream, Int(increment & 0x7fff_ffff), now: now)
        case .priority:
            try header.checkPriority(payload)
        case .pushPromise:
            throw HTTP2ConnectionError(.protocolError, "a push that is not allowed")
        case .data, .headers, .continuation, nil:
            break
        }
        return nil
    }

    private mutating func takeSettings(
        _ header: HTTP2Frame.Header,
        _ payload: ByteBuffer
    ) throws(HTTP2ConnectionError) -> Event? {
        guard header.stream == 0 else { throw HTTP2ConnectionError(.protocolError, "SETTINGS on a stream") }
        guard !header.has(HTTP2Frame.Flags.acknowledgement) else {
            guard header.length == 0 else {
                throw HTTP2ConnectionError(.frameSizeError, "an acknowledgement of SETTINGS has a payload")
            }
            return nil
        }
        try noteReply()
        let settings = try HTTP2Settings(payload, mayAllowPush: role == .server)
        if let size = settings.headerTableSize { encoder.setMaximumTableSize(size) }
        if let size = settings.maxFrame { maxFrame = min(size, HTTP2Frame.largestWritten) }
        if let window = settings.initialWindow {
            let change = window - initialSendWindow
            initialSendWindow = window
            // Iterate over a copy of the keys: a view of the dictionary would make the first change copy all of it.
            for id in Array(streams.keys) {
                guard let index = streams.index(forKey: id) else { continue }
                guard let window = HTTP2Frame.window(streams.values[index].sendWindow, changedBy: change) else {
                    throw HTTP2ConnectionError(.flowControlError, "SETTINGS makes a window too large")
                }
                streams.values[index].sendWindow = window
                queue(at: index)
            }
        }
        out.writeFrame(.settings, flags: HTTP2Frame.Flags.acknowledgement, length: 0)
        return settings.maxStreams.map(Event.capacity)
    }

    private mutating func takeWindow(
        _ id: UInt32,
        _ increment: Int,
        now: NIODeadline
    ) throws(HTTP2ConnectionError) -> Event? {
        guard id != 0 else {
            guard increment > 0 else { throw HTTP2ConnectionError(.protocolError, "WINDOW_UPDATE increments by 0") }
            guard let window = HTTP2Frame.window(sendWindow, changedBy: increment) else {
                throw HTTP2ConnectionError(.flowControlError, "a window is larger than 2^31-1 octets")
            }
            sendWindow = window
            return .window(stream: 0)
        }
        try checkOpened(id)
        guard let index = streams.index(forKey: id) else { return nil }
        guard increment > 0 else {
            return try fail(id, code: .protocolError, message: "WINDOW_UPDATE increments by 0", now: now)
        }
        guard let window = HTTP2Frame.window(streams.values[index].sendWindow, changedBy: increment) else {
            return try fail(id, code: .flowControlError, message: "a window is larger than 2^31-1 octets", now: now)
        }
        streams.values[index].sendWindow = window
        queue(at: index)
        return .window(stream: id)
    }

    /// Counts replies while the socket is not writable. A peer that sends PING or SETTINGS and does not read the replies would
    /// fill our memory, even if it makes progress in between.
    private mutating func noteReply() throws(HTTP2ConnectionError) {
        guard isBlocked else { return }
        repliesInWait += 1
        guard repliesInWait <= HTTP2FloodGuard.limit else {
            throw HTTP2ConnectionError(.enhanceYourCalm, "it sends PING or SETTINGS without reading the replies")
        }
    }
}
