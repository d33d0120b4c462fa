// SPDX-License-Identifier: Apache-2.0

import Names

/// The connections of a server, and how many of them each client has open.
struct ConnectionCounts: Sendable {
    private(set) var accepted = 0
    private(set) var open = 0
    private(set) var refused = 0
    private var ofClients = Tally<IPAddress>()

    /// Counts a new connection. Returns false if it must be closed.
    ///
    /// - Parameters:
    ///   - client: Nil for a proxy that will report its client; see ``identify(_:limit:)``.
    ///   - limit: The maximum number of open connections.
    ///   - clientLimit: The maximum number of open connections of one client.
    mutating func add(_ client: IPAddress?, limit: Int, clientLimit: Int) -> Bool {
        guard open < limit else {
            refused += 1
            return false
        }
        if let client, !identify(client, limit: clientLimit) { return false }
        accepted += 1
        open += 1
        return true
    }

    /// Counts the client of a connection that a proxy opened. Returns false if the client has too many.
    mutating func identify(_ client: IPAddress, limit: Int) -> Bool {
        let hasRoom = ofClients.add(client, limit: limit)
        if !hasRoom { refused += 1 }
        return hasRoom
    }

    /// Counts a connection that is refused for another reason.
    mutating func refuse() { refused += 1 }

    /// Counts the end of a connection.
    ///
    /// - Parameter client: The client that ``add(_:limit:clientLimit:)`` or ``identify(_:limit:)`` counted.
    mutating func remove(_ client: IPAddress?) {
        open -= 1
        if let client { ofClients.remove(client) }
    }
}
