// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

// Maps the events of a server's connection to exchanges.
extension HTTP2Handler {
    /// Processes all events of the bytes received so far.
    func takeEvents(now: NIODeadline) throws(HTTP2ConnectionError) {
        while let event = try connection.next(now: now) { take(event, now: now) }
    }

    private func take(_ event: HTTP2Connection.Event, now: NIODeadline) {
        switch event {
        case .head(let id, let head, let endStream):
            update(id, now: now) { stream in
                let response = head.response
                stream.exchange.request.onHead?(ReceivedHead(response))
                stream.take(response, endStream: endStream, now: now)
            }
        case .informational(let id, let head):
            guard let stream = streams[id] else { return }
            stream.watch.recordActivity(now: now)
            stream.exchange.request.onHead?(ReceivedHead(head.response))
            if head.status == 100 { stream.exchange.gate?.open() }
        case .trailers(let id, let fields):
            update(id, now: now) { $0.pendingEnd = .success(fields.isEmpty ? nil : fields) }
        case .data(let id, let piece, let endStream):
            update(id, now: now) { $0.take(piece, endStream: endStream) }
        case .reset(let id, let code):
            takeReset(id, code: code, now: now)
        case .failed(let id, let message):
            let error = DirectHTTPError(.malformedResponse, "the server broke HTTP/2: \(message)")
            update(id, now: now) { $0.pendingEnd = .failure(error) }
        case .malformedTrailers(let id, let message):
            update(id, now: now) { $0.pendingEnd = .failure(.unreadable(.malformedTrailers(message))) }
        case .tooLarge(let id, let fieldLimit):
            let error = fieldLimit.map(HTTP1Error.tooManyFields) ?? .tooLarge("its header fields exceed the limits")
            update(id, now: now) { $0.pendingEnd = .failure(.unreadable(error)) }
        case .window(let id):
            // A peer that accepts an upload is not silent. Without an upload, a window update is no activity.
            if id == 0 {
                for stream in streams.values where stream.isUploading { stream.watch.recordActivity(now: now) }
            } else if let stream = streams[id], stream.isUploading {
                stream.watch.recordActivity(now: now)
            }
        case .goAway(let last, let code):
            refuse(after: last, code)
        case .capacity(let streams):
            notify(.capacity(streams))
        }
    }

    /// Updates the pending delivery of a stream. If its end is already pending, the stream is over.
    private func update(_ id: UInt32, now: NIODeadline, body: (HTTP2Stream) -> Void) {
        guard let stream = streams[id] else { return }
        if stream.pendingEnd == nil {
            stream.watch.recordActivity(now: now)
            body(stream)
            if case .success? = stream.pendingEnd { stream.refuseBody() }
            stream.isEndHeld = awaitsBody(stream)
            if stream.isEndHeld { stream.exchange.markOnlyUploading() }
        } else {
            stream.isEndHeld = false
        }
        touch(stream)
    }

    private func takeReset(_ id: UInt32, code: HTTP2ErrorCode, now: NIODeadline) {
        // A complete response stays valid: NO_ERROR after it stops our upload (RFC 9113 §8.1).
        update(id, now: now) { stream in
            var error =
                code == .refusedStream
                // RFC 9113 §8.7: a refused stream was not processed.
                ? .unprocessed("the server refused the stream")
                : DirectHTTPError(.streamReset, "the server reset the stream: \(code)")
            error.requiresHTTP11 = code == .http11Required
            stream.pendingEnd = .failure(error)
        }
    }

    /// Opens the stream's receive window if its reader keeps up.
    func credit(_ stream: HTTP2Stream) {
        guard streams[stream.id] != nil else { return }
        connection.credit(stream.id, isStalled: stream.isStalled)
    }
}
