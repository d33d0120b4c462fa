// SPDX-License-Identifier: Apache-2.0

package import Names

/// A server of this module, with the parts that all of them have.
package protocol LoopbackServer: Sendable {
    /// Accepts the connections.
    var listener: LoopbackListener { get }
}

extension LoopbackServer {
    /// The endpoints, in the order of the given addresses.
    package var endpoints: [Endpoint] { listener.endpoints }

    /// The first of ``endpoints``.
    package var endpoint: Endpoint { endpoints[0] }

    /// The port, which is the same on all addresses.
    package var port: UInt16 { endpoint.port }

    /// The current connection counts.
    package var connections: ConnectionTally { listener.tally.value }

    /// Waits until the connection counts fulfil `condition`, such as `{ $0.open == 0 }`.
    ///
    /// - Throws: ``TestingError`` with code `timedOut` after `limit`.
    @discardableResult
    package func connections(
        within limit: Duration = .seconds(10),
        until condition: @escaping @Sendable (ConnectionTally) -> Bool
    ) async throws -> ConnectionTally {
        try await listener.tally.wait(for: "connections", atMost: limit, until: condition)
    }

    /// Closes the port and all connections, and returns when their work has ended.
    package func stop() async { await listener.stop() }
}
