// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPWire
import NIOCore

// Passes the origin's response on to the client.
extension ForwardExchange {
    /// The maximum number of interim responses. A server that works for long sends one every few seconds.
    private static let maxInterims = 1_000

    func passResponse(_ bytes: ByteBuffer) {
        var bytes = bytes
        while !isOver, origin != nil {
            switch response {
            case .head(var reader):
                hasResponseBegun = true
                output.feed(bytes)
                bytes.clear()
                do throws(HTTP1Error) {
                    // First, so that the error does not depend on how many of the bytes have arrived.
                    guard HTTP1StatusLine.canBegin(with: output) else {
                        throw .malformed("it does not begin with a status line")
                    }
                    guard let head = try reader.take(from: &output) else { return response = .head(reader) }
                    bytes = output
                    output = ByteBuffer()
                    responded(with: try ResponseHead(head, to: self.head.method), rest: &bytes)
                } catch {
                    return fail(Refusal(reading: error))
                }
            case .body(var body):
                do throws(HTTP1Error) {
                    let piece = try takeBody(&body, from: &bytes)
                    response = .body(body)
                    if let piece {
                        releaseHead()
                        client.write(piece)
                    }
                    if body.isEnded { return endResponse(bytes) }
                    if piece == nil { return }
                } catch {
                    return fail(Refusal(reading: error))
                }
            case .ended:
                // Bytes after the response, which belong to no request.
                if bytes.readableBytes > 0 { finish(bytes) }
                return
            }
        }
    }

    /// Ends the exchange, unless the origin may still read the rest of the request, which the client goes on sending.
    private func endResponse(_ rest: ByteBuffer) {
        guard mayReadRequest, rest.readableBytes == 0, let origin, !request.isEnded || origin.waitingBytes > 0
        else { return finish(rest) }
        response = .ended
        releaseHead()
        if request.isEnded { finishOnceSent() }
    }

    /// The next part of the response's body in the form for the client; nil if there is none to forward.
    private func takeBody(
        _ body: inout HTTP1BodyReader,
        from bytes: inout ByteBuffer
    ) throws(HTTP1Error) -> ByteBuffer? {
        guard unchunks else { return try body.takeVerbatim(from: &bytes, without: connectionNames) }
        var content = ByteBuffer()
        while case .content(let piece)? = try body.next(from: &bytes) { content.writeImmutableBuffer(piece) }
        return content.readableBytes > 0 ? content : nil
    }

    private func responded(with received: ResponseHead, rest: inout ByteBuffer) {
        if received.status == 407, let forwarder {
            // The client cannot supply the credentials for our upstream proxy.
            return fail(
                Refusal(502, "the proxy \(forwarder) requires a valid user and password: put them into its URL")
            )
        }
        // The end of a kept connection's idle time, which the origin sent just before the request arrived.
        if received.status == 408, interims == 0, retryIfAllowed() { return rest.clear() }
        let response = gateway?.mapped(received) ?? received
        let addsVia = server.configuration.addsVia
        if response.isInterim {
            self.response = .head(HTTP1HeadReader(.response, limit: ResponseHead.lengthLimit))
            interims += 1
            if response.status == 100 { holdsBody = false }
            guard interims <= Self.maxInterims else { return fail(.badOrigin("too many interim responses")) }
            // HTTP/1.0 has no interim responses (RFC 9110 §15.2).
            if !head.isHTTP10 {
                client.write(response.forwarded(closes: false, saysKeepAlive: false, addsVia: addsVia))
            }
            return
        }
        if response.status == 101 {
            guard head.wantsUpgrade, received.changesProtocol(asAskedBy: head.fields) else {
                return fail(.badOrigin("it switches protocols without being asked"))
            }
            client.write(response.forwarded(closes: false, saysKeepAlive: false, addsVia: addsVia))
            return upgrade(&rest)
        }
        if response.fields.authenticatesConnection { origin?.isTied = true }
        // A server that refuses or redirects a request may not have read its body, and would read the rest as the next
        // request, of another client. A connection that is tied to its client stays, because a login (NTLM) needs it.
        let mayHoldBody = head.hasBody && response.status >= 300 && origin?.isTied != true
        isOriginKept = response.keepsAlive && gateway == nil && !mayHoldBody
        mayReadRequest = isOriginKept && head.hasBody && !holdsBody && response.status < 300
        unchunks = head.isHTTP10 && response.framing == .chunked
        closesClient = !head.keepsAlive || response.framing == .untilClose || unchunks || !server.keepsConnections
        heldHead = response.forwarded(
            closes: closesClient,
            saysKeepAlive: head.isHTTP10,
            addsVia: addsVia,
            includesFraming: !unchunks
        )
        connectionNames = response.fields.framing.connectionNames
        let body = HTTP1BodyReader(response.framing)
        self.response = .body(body)
        if body.isEnded { endResponse(rest) }
    }

    func releaseHead() {
        guard let heldHead else { return }
        self.heldHead = nil
        client.write(heldHead)
    }
}
