// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

// What the events of a server's connection mean to the exchanges.
extension HTTP2Handler {
    /// Takes all that came.
    func takeEvents(now: NIODeadline) throws(HTTP2ConnectionError) {
        while let event = try connection.next(now: now) { take(event, now: now) }
    }

    private func take(_ event: HTTP2ClientConnection.Event, now: NIODeadline) {
        switch event {
        case .head(let id, let status, let fields, let endStream):
            update(id, now) { $0.take(fields.response(status), endStream: endStream, now: now) }
        case .informational(let id, let status):
            guard let stream = streams[id] else { return }
            stream.watch.note(now: now)
            if status == 100 { stream.exchange.gate?.open() }
        case .trailers(let id, let fields):
            update(id, now) { $0.pendingEnd = .success(fields.isEmpty ? nil : fields.fields) }
        case .data(let id, let piece, let endStream):
            update(id, now) { $0.take(piece, endStream: endStream) }
        case .reset(let id, let code):
            takeReset(id, code, now)
        case .failed(let id, let message):
            update(id, now) { $0.pendingEnd = .failure(.malformed(message)) }
        case .window(let id):
            // A peer that takes an upload is not silent. The connection's window says nothing of streams without one.
            if id == 0 {
                for stream in streams.values where stream.isUploading { stream.watch.note(now: now) }
            } else {
                streams[id]?.watch.note(now: now)
            }
        case .goAway(let last, let code):
            refuse(after: last, code)
        case .capacity(let streams):
            notify(.capacity(streams))
        }
    }

    /// Changes what a stream has to deliver, unless its end has come.
    private func update(_ id: UInt32, _ now: NIODeadline, _ body: (HTTP2Stream) -> Void) {
        guard let stream = streams[id], stream.pendingEnd == nil else { return }
        stream.watch.note(now: now)
        body(stream)
        touch(stream)
    }

    private func takeReset(_ id: UInt32, _ code: HTTP2ErrorCode, _ now: NIODeadline) {
        // A response that is whole stays whole: NO_ERROR behind it only ends our upload (RFC 9113 §8.1).
        update(id, now) { stream in
            var error =
                code == .refusedStream
                // RFC 9113 §8.7: a refused stream was not processed.
                ? .unprocessed("the server refused the stream")
                : DirectHTTPError(.streamReset, "the server reset the stream: \(code)")
            error.wantsHTTP1 = code == .http11Required
            stream.pendingEnd = .failure(error)
        }
    }

    /// Lets the server send more on a stream whose reader keeps up.
    func credit(_ stream: HTTP2Stream) {
        guard streams[stream.id] != nil else { return }
        connection.credit(stream.id, isStalled: stream.isStalled)
    }
}
