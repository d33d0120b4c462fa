// SPDX-License-Identifier: Apache-2.0

/// How streams end, one by one and all at once, and what their callers hear of it.
extension HTTP2Handler {
    func deliverTouched() {
        // Ending one may end the connection, which delivers the rest and comes back here.
        for stream in touched where stream.isTouched {
            stream.isTouched = false
            // The place is given back before the caller hears of the end, so that its next request finds it.
            if stream.pendingEnd != nil, streams[stream.id] != nil {
                // Where it is in the table still, our side has not ended.
                connection.reset(stream.id, .cancel)
                remove(stream)
            }
            stream.deliver(now: now, wakes)
            credit(stream)
        }
        touched.removeAll(keepingCapacity: true)
    }

    func touch(_ stream: HTTP2Stream) {
        guard !stream.isTouched else { return }
        stream.isTouched = true
        touched.append(stream)
    }

    func fail(_ id: UInt32, _ error: DirectHTTPError) {
        guard let stream = streams[id] else { return }
        remove(stream)
        if stream.pendingEnd == nil { stream.pendingEnd = .failure(error) }
        stream.deliver(now: now, wakes)
    }

    func failAll(_ error: DirectHTTPError) {
        for stream in streams.values {
            var error = error
            error.isBeforeResponse = error.code == .connectionLost && !stream.hasHead
            fail(stream.id, error)
        }
    }

    /// Ends the connection for what the peer did (RFC 9113 §5.4.1).
    func fail(with error: HTTP2ConnectionError) {
        guard let context else { return }
        deliverTouched()
        connection.goAway(error.code)
        hasSaidGoAway = true
        let code: DirectHTTPError.Code = error.code == .enhanceYourCalm ? .responseTooLarge : .malformedResponse
        let ruin = DirectHTTPError(code, "what the server sent is not HTTP/2: \(error.message) (\(error.code))")
        self.ruin = ruin
        failAll(ruin)
        flush(context)
        closeNow()
    }

    /// RFC 9113 §6.8: streams after the last one were not processed.
    func refuse(after last: UInt32, _ code: HTTP2ErrorCode) {
        if !isDraining {
            isDraining = true
            notify(.draining)
        }
        for id in streams.keys where id > last { fail(id, .unprocessed("the server is going away: \(code)")) }
        if streams.isEmpty { closeNow() }
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
