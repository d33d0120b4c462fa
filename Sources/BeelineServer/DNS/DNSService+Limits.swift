// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// The limit of a client's questions a second.
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
}
