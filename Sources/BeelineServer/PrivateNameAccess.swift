// SPDX-License-Identifier: Apache-2.0

import Names

/// The clients that may ask this machine's own resolver.
///
/// That resolver answers names that are not sent to the upstreams: single labels, names such as `.lan` and
/// `.internal`, search domains and `NamePolicy.denied`. Its answers come from the hosts file and the internal DNS,
/// so they reveal internal addresses. Other clients get the response code REFUSED. Zones and tables that you wrote
/// answer all clients.
public struct PrivateNameAccess: Hashable, Sendable {
    private enum Clients {
        case none
        case loopback
        case all
    }

    private let clients: Clients

    /// No client.
    public static let forNone = PrivateNameAccess(clients: .none)
    /// Clients with a loopback address, which are programs on this machine.
    public static let forLoopback = PrivateNameAccess(clients: .loopback)
    /// All clients.
    public static let forAll = PrivateNameAccess(clients: .all)

    /// Whether a client may ask.
    func includes(_ client: IPAddress) -> Bool {
        switch clients {
        case .none: false
        case .loopback: client.unmapped.isLoopback
        case .all: true
        }
    }
}
