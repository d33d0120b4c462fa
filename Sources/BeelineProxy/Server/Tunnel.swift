// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Two sockets whose bytes go over to each other untouched. A slow side stops the fast one; an end of one direction is an end
/// of that direction.
final class Tunnel: WireOwner {
    private let client: Wire
    private let origin: Wire
    private let limits: ProxyLimits
    private let start: NIODeadline
    private let ended: (_ sent: Int, _ received: Int) -> Void
    private var sent = 0
    private var received = 0
    private var isOver = false
    private var holdsBuffers = true

    /// - Parameter ended: called once, with the bytes to the origin and from it.
    init(
        client: Wire,
        origin: Wire,
        limits: ProxyLimits,
        now: NIODeadline,
        ended: @escaping (_ sent: Int, _ received: Int) -> Void
    ) {
        self.client = client
        self.origin = origin
        self.limits = limits
        self.ended = ended
        start = now
    }

    /// Takes both sockets over, with what was read of them already.
    func begin(fromClient: ByteBuffer, fromOrigin: ByteBuffer = ByteBuffer()) {
        client.owner = self
        origin.owner = self
        if fromClient.readableBytes > 0 {
            sent += fromClient.readableBytes
            origin.send(fromClient)
        }
        if fromOrigin.readableBytes > 0 {
            received += fromOrigin.readableBytes
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
        if wire === client { sent += bytes.readableBytes } else { received += bytes.readableBytes }
        holdsBuffers = true
        // One write a read: the buffer is free for the next read when this returns.
        other(wire).send(bytes)
    }

    func receivedAll(from wire: Wire) {
        if !other(wire).isWritable { wire.pause() }
    }

    func writabilityChanged(of wire: Wire) {
        if wire.isWritable { other(wire).resume() } else { other(wire).pause() }
    }

    func inputEnded(of wire: Wire) { other(wire).finishWriting() }

    func closed(_ wire: Wire) {
        guard !isOver else { return }
        isOver = true
        // What the other side has not taken by now is of a peer that is gone; but its last words go out.
        other(wire).closeAfterFlush()
        ended(sent, received)
    }

    func check(_ wire: Wire, now: NIODeadline) {
        let rest = now - max(client.lastActivity, origin.lastActivity)
        if let total = limits.total, now - start >= TimeAmount(total) { return end() }
        let isHalfOpen = client.isInputEnded || origin.isInputEnded
        if let limit = isHalfOpen ? limits.halfClosed : limits.idle, rest >= TimeAmount(limit) { return end() }
        if holdsBuffers, rest >= .seconds(1) {
            holdsBuffers = false
            client.releaseBuffers()
            origin.releaseBuffers()
        }
    }

    private func end() {
        client.close()
        origin.close()
    }
}
