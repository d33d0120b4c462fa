// SPDX-License-Identifier: Apache-2.0

import NIOCore

// What becomes of the events of a client's connection.
extension HTTP2ServerHandler {
    /// Takes all that came.
    func takeEvents(now: NIODeadline) throws(HTTP2ConnectionError) {
        while let event = try connection.next(now: now) {
            switch event {
            case .head(let id, _, let head, let endStream): take(head.request, of: id, endStream: endStream, now: now)
            case .data(let id, let piece, let endStream): take(piece, of: id, endStream: endStream)
            case .trailers(let id, _): finishRequest(id)
            case .reset(let id, _), .failed(let id, _): forget(id)
            case .informational, .window, .goAway, .capacity: break
            }
        }
    }

    private func take(_ head: Request, of id: UInt32, endStream: Bool, now: NIODeadline) {
        guard head.target.utf8.first == UInt8(ascii: "/") else { return connection.reset(id, .protocolError) }
        var request = head
        request.stream = id
        pending[id] = Pending(request: request, since: now)
        if endStream { handOver(id) }
    }

    private func take(_ piece: ByteBuffer, of id: UInt32, endStream: Bool) {
        guard let size = pending[id]?.request?.body.count else {
            return endStream ? finishRequest(id) : takeOverrun(id)
        }
        // A stream's window is not opened again before this: content that needs it is larger than what is read.
        if size + piece.readableBytes > limits.body {
            pending[id]?.request?.isTooLarge = true
            handOver(id)
            // A client that has read the reply sends no more; one that goes on is stopped then. RST_STREAM together with the
            // reply is allowed (RFC 9113 §8.1), but curl 7.88 takes it for an error that hides the reply.
            if !endStream { connection.allow(HTTP2Frame.defaultMaximumLength, on: id) }
            return
        }
        // In place: a second reference would copy the whole content at each frame.
        pending[id]?.request?.body.append(contentsOf: piece.readableBytesView)
        if endStream { handOver(id) }
    }

    /// The client's side of a stream ended.
    private func finishRequest(_ id: UInt32) {
        if pending[id]?.request != nil { handOver(id) } else { settle(id) }
    }

    /// More of a request that was answered without it.
    private func takeOverrun(_ id: UInt32) {
        guard connection.streams[id]?.isLocalEnded == true else { return }
        connection.reset(id, .noError)
        settle(id)
    }

    /// Ends a stream whose reply is not wanted any more.
    func forget(_ id: UInt32) {
        guard let ended = pending.removeValue(forKey: id) else { return }
        if ended.request == nil { onCancel(id) }
    }
}
