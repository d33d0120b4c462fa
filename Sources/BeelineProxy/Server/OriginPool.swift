// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOCore
import Names

/// Idle connections to `http` origins, for reuse.
final class OriginPool {
    /// Identifies connections by the destination's name, never an address. A destination's routing does not change.
    struct Key: Hashable {
        let destination: Destination
        /// The client that authenticated the connection; nil if all clients can use it.
        var client: ObjectIdentifier?
    }

    private let limits: ProxyLimits
    private var idle: [Key: [Kept]] = [:]
    private(set) var count = 0
    /// The number of connections that are tied to a client.
    private var tied = 0

    private var sleep = SleepWatch(now: SleepWatch.now)
    private let clock: () -> SleepWatch.Moment
    /// The epoch of all idle connections.
    private var epoch: Int
    private let engineEpoch: () -> Int

    /// - Parameters:
    ///   - clock: the time. Tests replace it.
    ///   - engineEpoch: the engine's present epoch.
    init(
        limits: ProxyLimits,
        clock: @escaping () -> SleepWatch.Moment = { SleepWatch.now },
        engineEpoch: @escaping () -> Int = { 0 }
    ) {
        self.limits = limits
        self.clock = clock
        self.engineEpoch = engineEpoch
        epoch = engineEpoch()
    }

    var isEmpty: Bool { count == 0 }

    /// Takes a connection for a client's request: one tied to the client first, then the most recently used.
    ///
    /// - Parameter isReplayable: whether the proxy or the client can send the request again if the origin is just closing the
    ///   connection. Other requests take only connections that are tied to the client.
    func take(_ destination: Destination, for client: Wire, isReplayable: Bool) -> Wire? {
        // The origins have closed their ends during the sleep, and this machine may not have received that.
        if sleep.hasSlept(now: clock()) { closeAll() }
        closeRetired()
        var key = Key(destination: destination, client: ObjectIdentifier(client))
        if idle[key] == nil {
            guard isReplayable else { return nil }
            key.client = nil
        }
        guard let kept = idle[key]?.last(where: { $0.wire.isOpen }) else { return nil }
        remove(kept)
        kept.wire.owner = nil
        return kept.wire
    }

    /// Keeps a connection after an exchange. Closes it at the limits, and after a change of the network.
    func keep(_ wire: Wire, to destination: Destination, of client: Wire, now: NIODeadline) {
        closeRetired()
        let key = Key(destination: destination, client: wire.isTied ? ObjectIdentifier(client) : nil)
        guard wire.isOpen, !wire.isInputEnded, wire.epoch == epoch, count < limits.kept,
            idle[key, default: []].count < limits.keptPerOrigin
        else { return wire.close() }
        let kept = Kept(wire: wire, pool: self, key: key, since: now)
        wire.owner = kept
        wire.resume()
        idle[key, default: []].append(kept)
        count += 1
        if wire.isTied { tied += 1 }
    }

    func closeTied(to client: Wire) {
        guard tied > 0 else { return }
        let client = ObjectIdentifier(client)
        for (key, connections) in idle where key.client == client {
            for kept in connections { kept.wire.close() }
        }
    }

    func check(now: NIODeadline) {
        guard count > 0 else { return }
        let limit = TimeAmount(limit: limits.keepIdle)
        for kept in idle.values.joined() where now - kept.since >= limit { kept.wire.close() }
    }

    /// Closes the connections from before a change of the network or of the resolver.
    private func closeRetired() {
        let now = engineEpoch()
        guard epoch != now else { return }
        epoch = now
        closeAll()
    }

    func closeAll() { for kept in idle.values.joined() { kept.wire.close() } }

    private func remove(_ kept: Kept) {
        guard let index = idle[kept.key]?.firstIndex(where: { $0 === kept }) else { return }
        idle[kept.key]?.remove(at: index)
        if idle[kept.key]?.isEmpty == true { idle[kept.key] = nil }
        count -= 1
        if kept.wire.isTied { tied -= 1 }
    }

    /// Owns an idle connection. Anything the peer sends is unsolicited and closes it.
    private final class Kept: WireOwner {
        let wire: Wire
        // A connection with TLS closes later than the proxy that owns the pool.
        private weak let pool: OriginPool?
        let key: Key
        let since: NIODeadline

        init(wire: Wire, pool: OriginPool, key: Key, since: NIODeadline) {
            self.wire = wire
            self.pool = pool
            self.key = key
            self.since = since
        }

        func received(_ bytes: ByteBuffer, from wire: Wire) { drop() }
        func receivedAll(from wire: Wire) {}
        func inputEnded(of wire: Wire) { drop() }
        func writabilityChanged(of wire: Wire) {}
        func closed(_ wire: Wire) { pool?.remove(self) }
        func check(_ wire: Wire, now: NIODeadline) {}

        private func drop() {
            pool?.remove(self)
            wire.owner = nil
            wire.close()
        }
    }
}
