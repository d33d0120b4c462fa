// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore
import Names

/// One request at the gateway: the player's socket, on the event loop. A task handles the client's side.
final class GatewayExchange: WireOwner {
    private let server: ProxyLoop
    private let links: GatewayLinks
    private let client: Wire
    private let reader: RequestReader
    private let head: RequestHead
    private let target: GatewayLinks.Target
    private var request: HTTP1BodyReader
    private var input = ByteBuffer()
    private var upload: BodyPipe?
    private var task: Task<Void, Never>?
    private var hasResponseBegun = false
    private var isOver = false
    private var closes = false
    private let start: NIODeadline
    private var lastSent: NIODeadline
    private var delivery = DeliveryWatch()

    init(
        _ server: ProxyLoop,
        links: GatewayLinks,
        client: Wire,
        reader: RequestReader,
        head: RequestHead,
        target: GatewayLinks.Target
    ) {
        self.server = server
        self.links = links
        self.client = client
        self.reader = reader
        self.head = head
        self.target = target
        request = HTTP1BodyReader(head.framing)
        start = server.loop.now
        lastSent = start
    }

    /// Takes over the player's socket, with the bytes after the head.
    func begin(_ rest: ByteBuffer) {
        client.owner = self
        input = rest
        guard let method = HTTPRequest.Method(head.method) else { return fail(.malformed("the method is malformed")) }
        let loop = server.loop
        let me = NIOLoopBound(self, eventLoop: loop)
        var body = RequestBody.none
        if head.framing != .none {
            let pipe = BodyPipe { loop.execute { me.value.client.resume() } }
            upload = pipe
            var length: Int64?
            if case .length(let said) = head.framing { length = said }
            body = .once(length: length, pipe)
            // The client does not wait for the origin's 100, so the player need not wait either (RFC 9110 §10.1.1).
            if head.fields.expectsContinue, !head.isHTTP10, !request.isEnded { client.send(OwnResponse.proceed) }
        }
        let url = target.url
        let kind = target.kind ?? PlaylistMapper.Kind(contentType: nil, path: url.path)
        let fields = GatewayFields.request(head, for: target, links: links, kind: kind)
        let order = GatewayCarrier(
            client: server.client,
            links: links,
            target: target,
            gateway: head.fields.host.flatMap { $0.readableBytes > 0 ? "http://\(String(buffer: $0))" : nil } ?? "",
            request: HTTPRequest(method: method, scheme: nil, authority: nil, path: nil, headerFields: fields),
            body: body,
            isHTTP10: head.isHTTP10,
            keepsAlive: head.keepsAlive && server.keepsConnections,
            screen: server.screen(for: Destination(url.host, port: url.origin.port))
        )
        task = Task {
            do throws(Refusal) {
                try await order.carry { bytes, closes in
                    try await loop.flatSubmit { me.value.send(bytes, closes: closes) }.get()
                }
                loop.execute { me.value.finish() }
            } catch {
                let refusal = error
                loop.execute { me.value.fail(refusal) }
            }
        }
        passRequest()
    }

    private func passRequest() {
        guard let upload, !isOver else { return }
        do throws(HTTP1Error) {
            while !request.isEnded, case .content(let content)? = try request.next(from: &input) {
                if !upload.add(content) { client.pause() }
            }
        } catch {
            return fail(.malformed(error.message))
        }
        guard request.isEnded else {
            // The input ended while the request before this one was answered.
            if client.isInputEnded { fail(.malformed("its body ends too early")) }
            return
        }
        upload.end(isWhole: true)
        if input.readableBytes > 0 { client.pause() }
    }

    private func send(_ bytes: ByteBuffer, closes: Bool) -> EventLoopFuture<Void> {
        guard !isOver else { return server.loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        hasResponseBegun = true
        lastSent = server.loop.now
        self.closes = self.closes || closes
        return client.sendAll(bytes, on: server.loop)
    }

    private func finish() {
        guard !isOver else { return }
        letGo()
        server.forwarded()
        if closes || !head.keepsAlive || !request.isEnded || !server.keepsConnections {
            reader.close(saying: ByteBuffer())
        } else {
            reader.takeBack(input)
        }
    }

    private func fail(_ refusal: Refusal) {
        guard !isOver else { return }
        letGo()
        let rest = request.isEnded ? input : nil
        reader.end(with: refusal, of: head, rest: rest, hasResponse: hasResponseBegun, endsByClosing: closes)
    }

    /// Ends the exchange, and lets go of the body: the pipe refers to this exchange.
    private func letGo() {
        isOver = true
        task?.cancel()
        task = nil
        upload?.end(isWhole: false)
        upload = nil
    }

    // MARK: Socket events

    func received(_ bytes: ByteBuffer, from wire: Wire) {
        // The last bytes are still being sent.
        guard !isOver else { return }
        input.feed(bytes)
        if upload != nil, !request.isEnded { passRequest() } else { client.pause() }
    }

    func receivedAll(from wire: Wire) {}

    func inputEnded(of wire: Wire) {
        // A player that has left looks the same as one that waits for its response; writes to it fail.
        if !request.isEnded { fail(.malformed("its body ends too early")) }
    }

    func writabilityChanged(of wire: Wire) {}

    func closed(_ wire: Wire) { letGo() }

    func check(_ wire: Wire, now: NIODeadline) {
        let limits = server.configuration.limits
        if let limit = limits.reply, client.isStalled(for: TimeAmount(limit: limit), now: now) {
            return fail(.timedOut)
        }
        let awaitsBody = !request.isEnded && !client.isPaused
        // The bytes of a pipelined request may have arrived long before its turn.
        if awaitsBody, let limit = limits.body, now - max(client.lastRead, start) >= TimeAmount(limit: limit) {
            return fail(.timedOut)
        }
        guard let limit = client.isInputEnded ? limits.halfClosed : limits.idle else { return }
        if client.isInputEnded { delivery.check(client, nil, within: limits.delivery, now: now) }
        if now - max(client.lastActivity, lastSent) >= TimeAmount(limit: limit) {
            fail(Refusal(504, "the connection was silent for too long"))
        }
    }
}
