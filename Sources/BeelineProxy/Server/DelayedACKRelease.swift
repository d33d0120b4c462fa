// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The origins of tunnels whose clients have sent nothing. The final ACK of the TCP handshake is delayed to carry the first bytes
/// (`DelayedHandshakeACK`), but a server that speaks first, such as SSH or mail, waits for it. It is sent without data after 10 to 20
/// ms.
final class DelayedACKRelease {
    private static let period = TimeAmount.milliseconds(10)

    private let loop: any EventLoop
    /// The origins added since the last check, and those that are due at the next one.
    private var new: [Wire] = []
    private var old: [Wire] = []

    init(on loop: any EventLoop) { self.loop = loop }

    func add(_ origin: Wire) {
        if new.isEmpty, old.isEmpty { planLook() }
        new.append(origin)
    }

    private func planLook() {
        loop.assumeIsolated().scheduleTask(in: Self.period) { [self] in
            for origin in old { origin.endHandshake() }
            old.removeAll(keepingCapacity: true)
            swap(&old, &new)
            if !old.isEmpty { planLook() }
        }
    }
}
