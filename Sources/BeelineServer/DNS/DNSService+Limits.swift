// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// The limits of clients: their questions a second and their connections.
extension DNSService {
    /// A client for the limit of waiting questions. UDP counts separately, because its addresses may be forged.
    struct Subscriber: Hashable {
        private let address: IPAddress
        private let mayBeForged: Bool

        init(_ client: IPAddress, _ transport: Transport) {
            address = client.ofSubscriber
            mayBeForged = transport == .udp
        }
    }

    /// Whether a client's question is answered.
    enum Permission { case allowed, limited, refused }

    static func permission(
        _ client: IPAddress,
        _ transport: Transport,
        now: NIODeadline,
        in state: inout State
    ) -> Permission {
        guard state.limiter != nil, !client.isLoopback else { return .allowed }
        let now = Int64(clamping: now.uptimeNanoseconds)
        let isAllowed =
            transport == .udp ? state.limiter?.allows(client, now: now) : state.streamLimiter?.allows(client, now: now)
        if isAllowed ?? true { return .allowed }
        state.counters.limited += 1
        state.answersLimited.toggle()
        return transport == .udp && state.answersLimited ? .limited : .refused
    }

    /// Counts a connection. Returns false if the server or this client has too many.
    ///
    /// - Parameter client: Nil for a proxy that will report its client; see ``admitClient(_:)``.
    func admitConnection(of client: IPAddress?, limit: Int) -> Bool {
        state.withLockedValue { state in
            guard !state.isDraining else {
                state.connections.refuse()
                return false
            }
            return state.connections.add(client, limit: limit, clientLimit: configuration.connectionsPerClient)
        }
    }

    /// Counts the client of a connection that a proxy opened. Returns false if it has too many connections.
    func admitClient(_ client: IPAddress) -> Bool {
        state.withLockedValue { $0.connections.identify(client, limit: configuration.connectionsPerClient) }
    }

    /// Ends the count of a connection.
    ///
    /// - Parameter client: The client that ``admitConnection(of:limit:)`` or ``admitClient(_:)`` counted.
    func removeConnection(of client: IPAddress?) { state.withLockedValue { $0.connections.remove(client) } }
}
