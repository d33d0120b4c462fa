// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The origins of tunnels whose clients have said nothing yet. The end of the handshake with them is held back for the first
/// bytes (`HandshakeEnd`); one that speaks first, such as an SSH or a mail server, would wait for it. After 10 to 20 ms it is
/// sent without them.
final class SilentTunnels {
    private static let period = TimeAmount.milliseconds(10)

    private let loop: any EventLoop
    /// Those that came since the last look, and those that the next one is for.
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
