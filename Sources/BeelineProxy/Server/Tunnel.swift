// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore

/// Passes bytes unchanged between two sockets. A slow side pauses the other, and each direction ends separately.
final class Tunnel: WireOwner {
    private let server: ProxyLoop
    private let client: Wire
    private let origin: Wire
    /// The destination in the event for the tunnel's end; nil for no event.
    private let destination: Destination?
    private let start: NIODeadline
    /// Int64, because Int may have 32 bits and a tunnel may carry more than 2 GiB.
    private var sent: Int64 = 0
    private var received: Int64 = 0
    private var isOver = false
    private var delivery = DeliveryWatch()

    init(_ server: ProxyLoop, client: Wire, origin: Wire, to destination: Destination? = nil) {
        self.server = server
        self.client = client
        self.origin = origin
        self.destination = destination
        start = server.loop.now
    }

    /// Takes over both sockets, with the bytes already read from them.
    func begin(fromClient: ByteBuffer, fromOrigin: ByteBuffer = ByteBuffer()) {
        client.owner = self
        origin.owner = self
        if fromClient.readableBytes > 0 {
            sent += Int64(fromClient.readableBytes)
            origin.send(fromClient)
        }
        if fromOrigin.readableBytes > 0 {
            received += Int64(fromOrigin.readableBytes)
            client.send(fromOrigin)
        }
        client.resume()
        origin.resume()
        // Handle ends that happened before the tunnel owned the sockets.
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

    func receivedAll(from wire: Wire) { if !other(wire).isWritable { wire.pause() } }

    func writabilityChanged(of wire: Wire) {
        if wire.isWritable { other(wire).resume() } else { other(wire).pause() }
    }

    func inputEnded(of wire: Wire) {
        // TLS without close_notify at its end was truncated.
        if wire.hasFailed { closed(wire) } else { other(wire).finishWriting() }
    }

    func closed(_ wire: Wire) {
        guard !isOver else { return }
        isOver = true
        // The last bytes of the closed side are still sent, but with a time limit, because no owner checks this socket any more.
        let rest = other(wire)
        let limit = server.configuration.limits.lastBytes
        // If the protocol ends messages by closing, an orderly close after a reset would make a truncated message look complete.
        if wire.hasFailed { rest.resetAfterDelivery(within: limit) } else { rest.closeAfterFlush(within: limit) }
        if let destination {
            server.report(.ended(destination, sent: Int(clamping: sent), received: Int(clamping: received)))
        }
    }

    func check(_ wire: Wire, now: NIODeadline) {
        let limits = server.configuration.limits
        if let total = limits.total, now - start >= TimeAmount(limit: total) { return end() }
        // The side that remains has a limit of its own.
        guard !isOver else { return }
        let isHalfOpen = client.isInputEnded || origin.isInputEnded
        if isHalfOpen { delivery.check(client, origin, within: limits.delivery, now: now) }
        let rest = now - max(client.lastActivity, origin.lastActivity)
        if let limit = isHalfOpen ? limits.halfClosed : limits.idle, rest >= TimeAmount(limit: limit) { return end() }
    }

    private func end() {
        // Otherwise the peers could mistake an interrupted transfer for a complete one.
        client.reset()
        origin.reset()
    }
}
