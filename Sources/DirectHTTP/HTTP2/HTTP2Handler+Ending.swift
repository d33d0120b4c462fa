// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HTTPWire
import NIOCore

/// Ends streams, one at a time or all at once, and reports their errors to the callers.
extension HTTP2Handler {
    func deliverTouched() {
        // Ending a stream may end the connection, which delivers the other streams and re-enters this method.
        for stream in touched where stream.isTouched {
            stream.isTouched = false
            // Free the stream's capacity before the caller sees the end, so that the caller's next request can use it.
            if stream.pendingEnd != nil, !stream.isEndHeld, streams[stream.id] != nil {
                // A stream that is still in the connection's table has not been ended by our side.
                connection.reset(stream.id, .cancel)
                remove(stream)
            }
            stream.deliver(now: now, wakes)
            credit(stream)
            if stream.isEndHeld, connection.streams[stream.id] == nil { endOnceWritten(stream) }
        }
        touched.removeAll(keepingCapacity: true)
    }

    func touch(_ stream: HTTP2Stream) {
        guard !stream.isTouched else { return }
        stream.isTouched = true
        touched.append(stream)
    }

    /// Ends a stream whose response was complete before its request, when the socket has taken the rest of the request. A
    /// connection that is closed before that would lose it.
    func endOnceWritten(_ stream: HTTP2Stream) {
        guard let context else { return }
        flush(context)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { [self] in
            guard streams[stream.id] === stream else { return }
            stream.isEndHeld = false
            remove(stream)
            stream.deliver(now: now, wakes)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// - Parameter isByServer: whether the server ended the stream. If its response is complete, it stays valid, although the
    ///   server has not read the whole request.
    func fail(_ id: UInt32, _ error: DirectHTTPError, isByServer: Bool = false) {
        guard let stream = streams[id] else { return }
        remove(stream)
        if stream.pendingEnd == nil || (stream.isEndHeld && !isByServer) { stream.pendingEnd = .failure(error) }
        stream.isEndHeld = false
        stream.deliver(now: now, wakes)
    }

    func failAll(_ error: DirectHTTPError, isByServer: Bool = false) {
        for stream in streams.values {
            var error = error
            error.isBeforeResponse = error.code == .connectionLost && !stream.hasHead
            fail(stream.id, error, isByServer: isByServer)
        }
    }

    /// Fails all streams. If this side has closed the connection, TLS reports that as a close by the peer.
    func connectionEnded(_ error: DirectHTTPError, isByServer: Bool) {
        guard !hasSaidGoAway else { return failAll(.closedByClient) }
        var error = error
        if let goAwayError { error.message += "; its GOAWAY says \(goAwayError)" }
        failAll(error, isByServer: isByServer)
    }

    /// Ends the connection because of an error of the peer (RFC 9113 §5.4.1).
    func fail(with error: HTTP2ConnectionError) {
        guard let context else { return }
        deliverTouched()
        connection.goAway(error.code)
        hasSaidGoAway = true
        let code: DirectHTTPError.Code = error.isTooLarge ? .responseTooLarge : .malformedResponse
        let connectionError = DirectHTTPError(code, "the server broke HTTP/2: \(error.message) (\(error.code))")
        self.connectionError = connectionError
        failAll(connectionError)
        flush(context)
        closeNow()
    }

    /// Fails the streams after `last`, which were not processed (RFC 9113 §6.8).
    func refuse(after last: UInt32, _ code: HTTP2ErrorCode) {
        if code != .noError { goAwayError = code }
        var error = DirectHTTPError.unprocessed("the server is going away: \(code)")
        error.requiresHTTP11 = code == .http11Required
        error.servedOthers = code == .noError && (1..<connection.nextID).contains(last)
        // Also for a request that was given this connection before it is closed.
        if connectionError?.requiresHTTP11 != true { connectionError = error }
        drain()
        for id in streams.keys where id > last { fail(id, error, isByServer: true) }
    }

    func remove(_ stream: HTTP2Stream) {
        guard streams.removeValue(forKey: stream.id) != nil else { return }
        ids[ObjectIdentifier(stream.exchange)] = nil
        connection.remove(stream.id)
        guard let context else { return }
        if streams.isEmpty { becomeIdle(context) }
        notify(.free(now))
        if isDraining, streams.isEmpty { closeNow() }
    }
}
