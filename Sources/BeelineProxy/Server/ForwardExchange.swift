// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPWire
import NIOCore
import Names

/// One request for an `http` URL and its response. Heads are rewritten, bodies are passed on, and both connections can be reused.
///
/// `ForwardExchange+Response.swift` passes on the response.
final class ForwardExchange: WireOwner {
    enum Response {
        case head(HTTP1HeadReader)
        case body(HTTP1BodyReader)
        case ended
    }

    /// The maximum number of bytes buffered from a client before the origin is connected.
    private static let aheadLimit = 64 * 1024

    let server: ProxyLoop
    let client: Wire
    private let reader: RequestReader
    let head: RequestHead
    private let destination: Destination
    /// The handshake of a gateway WebSocket; nil for a request to the proxy.
    let gateway: GatewayHandshake?
    private let purpose: OriginConnector.Purpose
    /// The upstream proxy that forwards the request; nil if there is none.
    let forwarder: Proxy?
    private let start: NIODeadline
    private(set) var origin: Wire?
    private var connector: OriginConnector?
    private(set) var request: HTTP1BodyReader
    var response = Response.head(HTTP1HeadReader(.response, limit: ResponseHead.lengthLimit))
    /// Bytes from the client that were not processed yet.
    private var input: ByteBuffer
    /// The names in the response's Connection field; trailers with these names are not forwarded.
    var connectionNames: Set<String> = []
    /// Bytes of an incomplete head from the origin.
    var output = ByteBuffer()
    var isOriginKept = false
    /// Whether the client may wait for 100 Continue before it sends the body.
    var holdsBody: Bool
    /// Whether the origin may read the rest of the request after its response, because it accepted the request.
    var mayReadRequest = false
    var interims = 0
    private var connectedAt: NIODeadline
    private var isOriginFromPool = false
    var hasResponseBegun = false
    /// The response's head, held until its body begins, so that a body malformed at once becomes an error response.
    var heldHead: ByteBuffer?
    var closesClient = false
    /// Whether to remove the chunk framing, as an HTTP/1.0 client requires.
    var unchunks = false
    /// Whether the end of the client's data was passed to the origin.
    private var hasPassedEnd = false
    private(set) var isOver = false
    private var delivery = DeliveryWatch()

    init(
        _ server: ProxyLoop,
        client: Wire,
        reader: RequestReader,
        head: RequestHead,
        to destination: Destination,
        gateway: GatewayHandshake? = nil
    ) {
        self.server = server
        self.client = client
        self.reader = reader
        self.head = head
        self.destination = destination
        self.gateway = gateway
        purpose = gateway.map { .webSocket(isSecure: $0.url.origin.scheme.isSecure) } ?? .requests
        let origin = purpose.origin(of: destination)
        forwarder = server.client.configuration.routing(to: origin).route.forwarder(for: origin)
        request = HTTP1BodyReader(head.framing)
        holdsBody = head.fields.expectsContinue
        input = ByteBuffer()
        start = server.loop.now
        connectedAt = start
    }

    /// Takes over the client's socket, with the bytes after the head.
    func begin(_ rest: ByteBuffer) {
        client.owner = self
        input = rest
        // A client that has used its connection before expects that it may have ended (RFC 9112 §9.3.1); see `originEnded`.
        let isReplayable = head.isReplayable || !reader.isFirst
        guard gateway == nil,
            let kept = server.origins.take(destination, for: client, isReplayable: isReplayable)
        else { return dial() }
        isOriginFromPool = true
        connected(kept)
    }

    // MARK: Connecting

    private func dial() {
        isOriginFromPool = false
        let connector = OriginConnector(server, to: destination, for: purpose) { [self] result in
            self.connector = nil
            switch result {
            case .failure(let refusal): fail(refusal)
            case .success(let connection):
                let time = Duration(server.loop.now - start)
                server.report(.connected(.forward, destination, connection.endpoint, after: time))
                connected(connection.wire)
            }
        }
        self.connector = connector
        connector.start()
    }

    private func connected(_ wire: Wire) {
        origin = wire
        wire.owner = self
        connectedAt = server.loop.now
        if head.fields.authenticatesConnection { wire.isTied = true }
        let addsVia = server.configuration.addsVia
        wire.write(
            head.forwarded(toProxy: forwarder != nil, authorization: forwarder?.authorization, addsVia: addsVia)
        )
        client.resume()
        passRequest()
        wire.flush()
        wire.resume()
    }

    // MARK: To the origin

    /// Passes on the buffered part of the request's body.
    private func passRequest() {
        guard let origin, !isOver else { return }
        let connectionNames = head.fields.framing.connectionNames
        do throws(HTTP1Error) {
            while let piece = try request.takeVerbatim(from: &input, without: connectionNames) {
                holdsBody = false
                origin.write(piece)
            }
        } catch {
            return fail(.malformed(error.message))
        }
        if client.isInputEnded, !request.isEnded { return fail(.malformed("its body ends too early")) }
        if !origin.isWritable || (request.isEnded && input.readableBytes > 0) { client.pause() }
        if case .ended = response {
            if request.isEnded { finishOnceSent() }
        } else if client.isInputEnded, input.readableBytes == 0 {
            passEnd()
        }
    }

    /// Passes the end of the client's data to the origin. The client may have left or may be waiting for the response.
    /// The origin decides, as it would without a proxy.
    private func passEnd() {
        guard let origin, !hasPassedEnd else { return }
        guard origin.halfCloses else { return client.close() }
        hasPassedEnd = true
        origin.flush()
        origin.finishWriting()
    }

    // MARK: End of the exchange

    /// Turns the exchange into a tunnel after both sides agreed on another protocol.
    func upgrade(_ rest: inout ByteBuffer) {
        guard let origin else { return }
        isOver = true
        server.forwarded()
        let tunnel = Tunnel(server, client: client, origin: origin)
        client.flush()
        tunnel.begin(fromClient: input, fromOrigin: rest)
        rest.clear()
    }

    /// Ends an exchange whose response was complete before its request, when the origin's socket has taken the rest of the
    /// request. A connection that is closed before that would lose it.
    func finishOnceSent() {
        guard let origin else { return }
        origin.sendAll(ByteBuffer(), on: server.loop).assumeIsolated().whenComplete { [self] _ in
            if origin === self.origin { finish(ByteBuffer()) }
        }
    }

    /// Ends the exchange after a complete response.
    func finish(_ rest: ByteBuffer) {
        guard let origin, !isOver else { return }
        isOver = true
        response = .ended
        releaseHead()
        server.forwarded()
        self.origin = nil
        // A server that responded before it received the whole request may not read the rest.
        let isUsable = isOriginKept && !hasPassedEnd && request.isEnded && rest.readableBytes == 0
        if isUsable, server.keepsOrigins, !(origin.isTied && closesClient) {
            server.origins.keep(origin, to: destination, of: client, now: server.loop.now)
        } else {
            origin.owner = nil
            origin.close()
        }
        if closesClient || !request.isEnded {
            reader.close(saying: ByteBuffer())
        } else {
            client.flush()
            reader.takeBack(input)
        }
    }

    private func letGo() {
        isOver = true
        origin?.owner = nil
        origin?.close()
        connector?.cancel()
        connector = nil
    }

    /// Ends the exchange with an error.
    func fail(_ refusal: Refusal) {
        guard !isOver else { return }
        letGo()
        var isUntilClose = unchunks
        var hasResponse = false
        switch response {
        case .head: break
        case .body(let body):
            hasResponse = heldHead == nil
            isUntilClose = isUntilClose || body.isUntilClose
        case .ended: hasResponse = true
        }
        let rest = request.isEnded ? input : nil
        reader.end(with: refusal, of: head, rest: rest, hasResponse: hasResponse, endsByClosing: isUntilClose)
    }

    /// Handles the end of the origin's connection.
    private func originEnded() {
        guard !isOver else { return }
        let isWhole =
            switch response {
            case .head: false
            case .body(let body): body.isUntilClose && origin?.hasFailed == false
            case .ended: true
            }
        if isWhole {
            isOriginKept = false
            return finish(ByteBuffer())
        }
        if !hasResponseBegun, retryIfAllowed() { return }
        let when = hasResponseBegun ? "before the response was complete" : "without a response"
        let refusal = Refusal(502, "the server closed the connection \(when)")
        guard isOriginFromPool, !hasResponseBegun, !reader.isFirst else { return fail(refusal) }
        // The client decides whether to send the request again, as it does when a server closes a connection that it reuses.
        server.report(.refused(destination, refusal))
        letGo()
        reader.close(saying: ByteBuffer())
    }

    /// Sends the request again on a new connection, if the origin may have ended a kept one before the request arrived (RFC 9110
    /// §9.2.2). Returns whether it does. The client must not have received anything.
    func retryIfAllowed() -> Bool {
        guard isOriginFromPool, head.isReplayable else { return false }
        origin?.owner = nil
        origin?.close()
        origin = nil
        hasResponseBegun = false
        hasPassedEnd = false
        response = .head(HTTP1HeadReader(.response, limit: ResponseHead.lengthLimit))
        dial()
        return true
    }

    // MARK: Socket events

    func received(_ bytes: ByteBuffer, from wire: Wire) {
        if wire !== client { return passResponse(bytes) }
        // The last bytes are still being sent.
        guard !isOver else { return }
        input.feed(bytes)
        if origin != nil {
            passRequest()
        } else if input.readableBytes >= Self.aheadLimit {
            client.pause()
        }
    }

    func receivedAll(from wire: Wire) {
        guard !isOver else { return }
        if wire === client {
            origin?.flush()
        } else {
            releaseHead()
            client.flush()
            if !client.isWritable { wire.pause() }
        }
    }

    func inputEnded(of wire: Wire) {
        guard wire === client else { return originEnded() }
        passRequest()
    }

    func writabilityChanged(of wire: Wire) {
        guard !isOver else { return }
        if wire === client {
            if wire.isWritable { origin?.resume() } else { origin?.pause() }
        } else if wire === origin {
            if wire.isWritable, !request.isEnded { client.resume() } else if !wire.isWritable { client.pause() }
        }
    }

    func closed(_ wire: Wire) {
        guard wire === client else {
            if wire === origin { originEnded() }
            return
        }
        if !isOver { letGo() }
    }

    func check(_ wire: Wire, now: NIODeadline) {
        if let connector { return connector.check(now: now) }
        let limits = server.configuration.limits
        if let limit = limits.reply, client.isStalled(for: TimeAmount(limit: limit), now: now) {
            return fail(.timedOut)
        }
        let awaitsBody = !request.isEnded && !client.isPaused && !client.isInputEnded
        if awaitsBody, let limit = limits.body, now - max(client.lastRead, connectedAt) >= TimeAmount(limit: limit) {
            return fail(.timedOut)
        }
        guard let limit = client.isInputEnded ? limits.halfClosed : limits.idle else { return }
        if client.isInputEnded { delivery.check(client, origin, within: limits.delivery, now: now) }
        let last = max(client.lastActivity, origin?.lastActivity ?? start)
        if now - last >= TimeAmount(limit: limit) { fail(Refusal(504, "the connection was silent for too long")) }
    }
}
