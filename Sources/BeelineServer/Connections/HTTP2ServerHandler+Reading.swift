// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

// Handles the events of a client's connection.
extension HTTP2ServerHandler {
    /// Processes all events of the bytes received so far.
    func takeEvents(now: NIODeadline) throws(HTTP2ConnectionError) {
        while let event = try connection.next(now: now) {
            switch event {
            case .head(let id, let head, let endStream): take(head, of: id, endStream: endStream, now: now)
            case .data(let id, let piece, let endStream): take(piece, of: id, endStream: endStream)
            case .trailers(let id, _): finishRequest(id)
            case .tooLarge(let id, _): refuse(id, now: now)
            case .reset(let id, _), .failed(let id, _), .malformedTrailers(let id, _): forget(id)
            case .informational, .window, .goAway, .capacity: break
            }
        }
    }

    private func take(_ head: HTTP2HeaderBlock, of id: UInt32, endStream: Bool, now: NIODeadline) {
        guard head.path?.utf8.first == UInt8(ascii: "/") else { return connection.reset(id, .protocolError) }
        let request = Request(head, stream: id, ends: ends, isTraced: isTraced)
        pending[id] = Pending(request: request, since: now)
        if endStream { handOver(id) }
    }

    /// Refuses a request whose header fields exceed the limits (RFC 6585 §5).
    private func refuse(_ id: UInt32, now: NIODeadline) {
        pending[id] = Pending(since: now)
        reply(431, fields: [(name: "content-length", value: "0", repeats: false)], body: [], to: id)
    }

    private func take(_ piece: ByteBuffer, of id: UInt32, endStream: Bool) {
        guard let size = pending[id]?.request?.question.body.count else {
            return endStream ? finishRequest(id) : takeOverrun(id)
        }
        // The stream's window is not enlarged before this point: a body that needs more exceeds the limit.
        if size + piece.readableBytes > maxBody {
            pending[id]?.request?.isTooLarge = true
            handOver(id)
            // The client should stop sending when it has read the reply; if it does not, the stream is reset then. RST_STREAM
            // together with the reply is allowed (RFC 9113 §8.1), but curl 7.88 reports it as an error and loses the reply.
            if !endStream { connection.allow(HTTP2Frame.defaultMaxLength, on: id) }
            return
        }
        // A client may open all its streams before it sends their bodies. The last piece of a body is handed over at once. The
        // other half of the limit is for replies, so that unfinished requests do not keep others from an answer.
        guard endStream || connection.heldBytes + piece.readableBytes <= connection.limits.heldBytes / 2 else {
            connection.reset(id, .refusedStream)
            return forget(id)
        }
        connection.heldBytes += piece.readableBytes
        // Append in place: a second reference would copy the body for every frame.
        pending[id]?.request?.question.body.append(contentsOf: piece.readableBytesView)
        if endStream { handOver(id) }
    }

    /// Handles the end of the client's side of a stream.
    private func finishRequest(_ id: UInt32) {
        if pending[id]?.request != nil { handOver(id) } else { removeIfEnded(id) }
    }

    /// Handles body data that arrives after the reply.
    private func takeOverrun(_ id: UInt32) {
        guard connection.streams[id]?.isLocalEnded == true else { return }
        connection.reset(id, .noError)
        removeIfEnded(id)
    }

    /// Drops a stream if its reply is no longer needed.
    func forget(_ id: UInt32) {
        guard let ended = pending.removeValue(forKey: id) else { return }
        if let request = ended.request { connection.heldBytes -= request.question.body.count }
        ended.work?.cancel()
    }
}
