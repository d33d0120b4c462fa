// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Two sockets whose bytes go over to each other untouched. A slow side stops the fast one; an end of one direction is an end
/// of that direction.
final class Tunnel: WireOwner {
    private let server: ProxyServer
    private let client: Wire
    private let origin: Wire
    /// Where to, as the end is told of; nil: nobody is told.
    private let destination: Destination?
    private let start: NIODeadline
    /// Int64 also where Int has 32 bits: a tunnel may carry more than 2 GiB.
    private var sent: Int64 = 0
    private var received: Int64 = 0
    private var isOver = false

    /// - Parameters:
    ///   - server: whose limits hold, and which is told of the end.
    ///   - client: one side.
    ///   - origin: the other.
    ///   - destination: where to, as the end is told of; nil: nobody is told.
    init(_ server: ProxyServer, client: Wire, origin: Wire, to destination: Destination? = nil) {
        self.server = server
        self.client = client
        self.origin = origin
        self.destination = destination
        start = server.loop.now
    }

    /// Takes both sockets over, with what was read of them already.
    func begin(fromClient: ByteBuffer, fromOrigin: ByteBuffer = ByteBuffer()) {
        client.owner = self
        origin.owner = self
        if fromClient.readableBytes > 0 {
            sent += Int64(fromClient.readableBytes)
            origin.send(fromClient)
        } else if !origin.hasWritten {
            server.silentTunnels.add(origin)
        }
        if fromOrigin.readableBytes > 0 {
            received += Int64(fromOrigin.readableBytes)
            client.send(fromOrigin)
        }
        client.resume()
        origin.resume()
        // What ended or died while nobody looked.
        if !client.isOpen { return closed(client) }
        if !origin.isOpen { return closed(origin) }
        if client.isInputEnded { inputEnded(of: client) }
        if origin.isInputEnded { inputEnded(of: origin) }
    }

    private func other(_ wire: Wire) -> Wire { wire === client ? origin : client }

    func received(_ bytes: ByteBuffer, from wire: Wire) {
        if wire === client { sent += Int64(bytes.readableBytes) } else { received += Int64(bytes.readableBytes) }
        other(wire).send(bytes)
    }

    func receivedAll(from wire: Wire) {
        if !other(wire).isWritable { wire.pause() }
    }

    func writabilityChanged(of wire: Wire) {
        if wire.isWritable { other(wire).resume() } else { other(wire).pause() }
    }

    func inputEnded(of wire: Wire) {
        // TLS that ends without a word is no orderly end.
        if wire.hasFailed { closed(wire) } else { other(wire).finishWriting() }
    }

    func closed(_ wire: Wire) {
        guard !isOver else { return }
        isOver = true
        // The last words of who is gone still go out, but not for ever: nobody looks at this socket any more.
        let rest = other(wire)
        // To a protocol that ends with the connection, a reset that becomes an orderly end is a whole message.
        if wire.hasFailed { rest.resetsAtClose() }
        rest.closeAfterFlush(within: server.configuration.limits.halfClosed ?? .seconds(120))
        if let destination {
            server.tell(.ended(destination, sent: Int(clamping: sent), received: Int(clamping: received)))
        }
    }

    func check(_ wire: Wire, now: NIODeadline) {
        let limits = server.configuration.limits
        let rest = now - max(client.lastActivity, origin.lastActivity)
        if let total = limits.total, now - start >= TimeAmount(total) { return end() }
        let isHalfOpen = client.isInputEnded || origin.isInputEnded
        if let limit = isHalfOpen ? limits.halfClosed : limits.idle, rest >= TimeAmount(limit) { return end() }
    }

    private func end() {
        // What is cut must not look whole.
        client.reset()
        origin.reset()
    }
}
