// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import NIOConcurrencyHelpers
import Names

/// A TCP relay that can partition a client from its server: it swallows octets and keeps connections open, or cuts them.
final class Relay: Sendable {
    private struct State {
        var drops = false
        var dropped = ""
        var pairs: [Int: [RawConnection]] = [:]
        var last = 0
    }

    private let server: RawServer
    private let state: NIOLockedValueBox<State>

    private init(server: RawServer, state: NIOLockedValueBox<State>) { (self.server, self.state) = (server, state) }

    /// Starts a relay to a port.
    static func start(to port: UInt16) async throws -> Relay {
        let state = NIOLockedValueBox(State())
        let target = Endpoint(IPAddress(v4: 0x7f00_0001), port: port)
        let server = try await RawServer.start { client in
            let remote = try await RawConnection.connect(to: target)
            let id = state.withLockedValue { state in
                state.last += 1
                state.pairs[state.last] = [client, remote]
                return state.last
            }
            await withTaskGroup(of: Void.self) { group in
                for (from, to) in [(client, remote), (remote, client)] {
                    group.addTask {
                        while let octets = try? await from.receive() {
                            let drops = state.withLockedValue { state in
                                if state.drops { state.dropped += String(decoding: octets, as: UTF8.self) }
                                return state.drops
                            }
                            if !drops { try? await to.send(octets) }
                        }
                        await from.close()
                        await to.close()
                    }
                }
            }
            state.withLockedValue { $0.pairs[id] = nil }
        }
        return Relay(server: server, state: state)
    }

    var port: UInt16 { server.port }

    /// Swallows all octets from now on, or stops to.
    func drop(_ drops: Bool) { state.withLockedValue { $0.drops = drops } }

    /// The octets that were swallowed, as text.
    var dropped: String { state.withLockedValue { $0.dropped } }

    /// Cuts all connections. Octets that were swallowed would leave them in the middle of a message.
    func cut() async {
        for pair in state.withLockedValue({ Array($0.pairs.values) }) { await pair[0].cut() }
    }

    func stop() async { await server.stop() }
}
#endif
