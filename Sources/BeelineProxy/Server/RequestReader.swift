// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPWire
import NIOCore
import Names

/// Owns a client's connection between requests. It detects the protocol, reads a head or a SOCKS greeting, and passes the socket
/// to the object that handles the request (`RequestReader+Serving.swift`).
final class RequestReader: WireOwner {
    enum State {
        /// Nothing of a request has arrived.
        case resting
        case head(HTTP1HeadReader)
        case socks(SOCKSReader)
        case connecting
        /// The request was refused; further input is discarded.
        case lingering
    }

    /// The maximum number of bytes buffered from a client before its request is answered.
    private static let aheadLimit = 64 * 1024
    /// How many steps are processed before other connections get their turn.
    private static let stepsInARow = 64

    let server: ProxyLoop
    let client: Wire
    /// The refusal for every request, if there are too many clients.
    let refusal: Refusal?
    var state = State.resting
    private(set) var input = ByteBuffer()
    private var connector: OriginConnector?
    private var since: NIODeadline
    /// Whether no response was sent on this connection.
    private(set) var isFirst = true
    private var isProceeding = false
    /// Whether pipelined requests wait for their next turn. No input is read meanwhile.
    private var isYielding = false
    /// Whether the kernel has accepted the last response.
    private var isFlushed = false

    init(_ server: ProxyLoop, client: Wire, refusal: Refusal?) {
        self.server = server
        self.client = client
        self.refusal = refusal
        since = server.loop.now
    }

    /// Takes the socket back after an exchange, with the bytes of the next request.
    func takeBack(_ rest: ByteBuffer) {
        client.owner = self
        state = .resting
        since = server.loop.now
        isFirst = false
        // Copy the bytes out of a much larger read buffer, which they would keep alive.
        input = rest.compacted()
        client.resume()
        proceed()
    }

    /// Takes the socket back from an exchange that failed. A client that has received nothing gets an error response.
    ///
    /// - Parameters:
    ///   - rest: the bytes after the request; nil if the request is incomplete.
    ///   - hasResponse: whether a part of the response was sent.
    ///   - endsByClosing: whether only the end of the connection ends that response.
    func end(with refusal: Refusal, of head: RequestHead, rest: ByteBuffer?, hasResponse: Bool, endsByClosing: Bool) {
        guard hasResponse else {
            guard let rest else { return refuse(refusal, to: head, closes: true) }
            client.owner = self
            isFirst = false
            input = rest
            return refuse(refusal, to: head)
        }
        // The client must not mistake an incomplete response for a complete one, but it gets the part that has arrived.
        let limit = server.configuration.limits.lastBytes
        switch (endsByClosing, refusal) {
        case (true, .timedOut): client.reset()
        case (true, _): client.resetAfterDelivery(within: limit)
        case (false, .timedOut): client.close()
        case (false, _): client.closeAfterFlush(within: limit)
        }
    }

    /// Closes an idle connection.
    func drain() { if case .resting = state { client.closeAfterFlush() } }

    // MARK: Socket events

    func received(_ bytes: ByteBuffer, from wire: Wire) {
        if case .lingering = state { return }
        input.feed(bytes)
        if case .connecting = state {
            if input.readableBytes >= Self.aheadLimit { client.pause() }
        } else {
            proceed()
        }
    }

    func receivedAll(from wire: Wire) {}

    func inputEnded(of wire: Wire) {
        if case .lingering = state { client.closeAfterFlush() } else { endInput() }
    }

    /// Closes the connection if the client has ended its input and no request is in progress.
    private func endInput() {
        switch state {
        case .resting where input.readableBytes > 0 && (isYielding || !client.isWritable): break
        case .resting, .head, .socks: client.closeAfterFlush()
        // A client that asks for a tunnel may end its input before the tunnel is open.
        case .connecting, .lingering: break
        }
    }

    func writabilityChanged(of wire: Wire) {
        guard wire.isWritable else { return }
        switch state {
        case .resting, .head, .socks:
            client.resume()
            proceed()
        case .connecting, .lingering: break
        }
    }

    func closed(_ wire: Wire) {
        connector?.cancel()
        connector = nil
    }

    func check(_ wire: Wire, now: NIODeadline) {
        let limits = server.configuration.limits
        switch state {
        case .connecting: connector?.check(now: now)
        case .resting where !isFirst && client.waitingBytes > 0:
            // The client has not read all of the last response.
            since = now
            if let limit = limits.reply, client.isStalled(for: TimeAmount(limit: limit), now: now) { client.close() }
        case .resting where !isFirst:
            if now - since >= TimeAmount(limit: limits.keepIdle) { client.close() }
        case .lingering where isFlushed && client.hasDelivered:
            if now - since >= .seconds(2) { client.close() }
        case .lingering:
            // The kernel soon gives up the rest for a client that does not read, if the socket is closed.
            since = now
            // The client must not mistake a response that ends with the connection for a complete one.
            if let limit = limits.reply, client.isDeliveryStalled(for: TimeAmount(limit: limit), now: now) {
                client.reset()
            }
        case .resting, .head, .socks:
            guard let limit = limits.head, now - since >= TimeAmount(limit: limit) else { return }
            if case .head = state { refuse(.timedOut, to: nil) } else { client.close() }
        }
    }

    // MARK: Reading

    /// Processes input as far as possible. A loop instead of recursion handles pipelined requests that are answered at once.
    private func proceed() {
        guard !isProceeding, !isYielding else { return }
        isProceeding = true
        var steps = 0
        while steps < Self.stepsInARow, step() { steps += 1 }
        isProceeding = false
        if steps == Self.stepsInARow, client.owner === self, case .resting = state, input.readableBytes > 0 {
            waitForTurn()
        } else if client.isInputEnded {
            endInput()
        }
    }

    private func waitForTurn() {
        isYielding = true
        client.pause()
        server.giveTurn(to: self)
    }

    /// Goes on with the pipelined requests.
    func takeTurn() {
        isYielding = false
        // The input of a client that sends faster than it is answered must not grow.
        let isAhead = input.readableBytes >= Self.aheadLimit
        if !isAhead { client.resume() }
        proceed()
        if isAhead, !isYielding { client.resume() }
    }

    /// Processes one step. Returns whether to continue.
    private func step() -> Bool {
        guard client.isOpen else { return false }
        // Otherwise a client that pipelines requests without reading would fill memory with its responses.
        guard client.isWritable else {
            client.pause()
            return false
        }
        if case .resting = state { begin() }
        switch state {
        case .head(var reader):
            do throws(HTTP1Error) {
                let head = try reader.take(from: &input)
                state = .head(reader)
                guard let head else { return false }
                received(try RequestHead(head))
            } catch {
                refuse(.malformed(error.message), to: nil)
            }
            return true
        case .socks(var reader):
            let event = reader.next(&input)
            state = .socks(reader)
            socks(event)
            return event != nil
        case .resting, .connecting, .lingering: return false
        }
    }

    /// Selects the protocol by the first byte.
    private func begin() {
        // Skip empty lines before a request (RFC 9112 §2.2).
        while input.readableBytes >= 2, input.getInteger(at: input.readerIndex, as: UInt16.self) == 0x0d0a {
            input.moveReaderIndex(forwardBy: 2)
        }
        // An incomplete empty line.
        if input.readableBytes == 1, input.getInteger(at: input.readerIndex, as: UInt8.self) == 0x0d { return }
        guard let first = input.getInteger(at: input.readerIndex, as: UInt8.self) else { return }
        since = server.loop.now
        switch first {
        case 5 where isFirst: state = .socks(SOCKSReader(credentials: server.configuration.credentials))
        case 4 where isFirst: socks(.refuse(SOCKSReader.version4Refusal, .unknownProtocol))
        case _ where HTTPCharacters.isToken(first):
            state = .head(HTTP1HeadReader(.request, limit: RequestHead.lengthLimit))
        // A client of another protocol would wait for a response until the limit.
        default: refuse(.unknownProtocol, to: nil)
        }
    }

    /// The bytes after the head, for the object that handles the request.
    func takeInput() -> ByteBuffer {
        defer { input = ByteBuffer() }
        return input
    }

    // MARK: Tunnels

    func tunnel(
        to destination: Destination,
        kind: ProxyEvent.Kind,
        failed: @escaping (Refusal) -> Void,
        succeeded: @escaping () -> Void
    ) {
        // The head of this request arrived after the proxy began to stop. A tunnel would delay the stop to its deadline.
        guard server.keepsConnections else { return failed(.ended) }
        state = .connecting
        let start = server.loop.now
        let connector = OriginConnector(server, to: destination, for: .tunnel) { [self] result in
            self.connector = nil
            switch result {
            case .failure(let refusal): failed(refusal)
            case .success(let connection):
                succeeded()
                let time = Duration(server.loop.now - start)
                server.report(.connected(kind, destination, connection.endpoint, after: time))
                Tunnel(server, client: client, origin: connection.wire, to: destination)
                    .begin(fromClient: takeInput(), fromOrigin: connection.surplus)
            }
        }
        self.connector = connector
        connector.start()
    }

    private func socks(_ event: SOCKSReader.Event?) {
        switch event {
        case nil: break
        case .reply(let bytes)?:
            client.send(ByteBuffer(bytes: bytes))
        case .refuse(let bytes, let refusal)?:
            server.report(.refused(nil, refusal))
            close(saying: ByteBuffer(bytes: bytes))
        case .request(let destination)?:
            if let refusal {
                server.report(.refused(destination, refusal))
                return close(saying: ByteBuffer(bytes: SOCKSReader.ReplyCode(refusal).bytes))
            }
            tunnel(to: destination, kind: .socks) { [self] refusal in
                server.report(.refused(destination, refusal))
                close(saying: ByteBuffer(bytes: SOCKSReader.ReplyCode(refusal).bytes))
            } succeeded: { [client] in
                client.send(ByteBuffer(bytes: SOCKSReader.ReplyCode.succeeded.bytes))
            }
        }
    }

    /// Sends a last response and closes. Input is read until then: unread input would cause a reset and lose it.
    func close(saying bytes: ByteBuffer) {
        client.owner = self
        state = .lingering
        since = server.loop.now
        input = ByteBuffer()
        client.resume()
        client.sendAll(bytes, on: server.loop).assumeIsolated().whenComplete { [self] _ in
            isFlushed = true
            since = server.loop.now
            client.finishWriting()
        }
    }
}
