// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOSSL
import TLSInternals

/// The Encrypted Client Hello key of a server (RFC 9849), which can be replaced while the server runs.
package final class ServerECH: Sendable {
    private struct State {
        var keys: ECHServerKeys
        var id: UInt8 = 0
        var contexts: [NIOSSLContext] = []
    }

    private let publicName: String
    /// Guards the key and the contexts of the servers that use it.
    private let state: NIOLockedValueBox<State>

    /// Creates a key.
    ///
    /// - Parameter publicName: the server name that observers see. The server's certificate must cover it, too.
    package init(publicName: String) throws {
        self.publicName = publicName
        state = NIOLockedValueBox(State(keys: try Self.keys(0, publicName)))
    }

    /// The `ECHConfigList` for clients.
    package var configurations: [UInt8] { state.withLockedValue { $0.keys.configurations } }

    /// Replaces the key. The server rejects clients that use the old one, and sends them the new configuration.
    package func rotate() throws {
        try state.withLockedValue { state in
            state.id &+= 1
            state.keys = try Self.keys(state.id, publicName)
            for context in state.contexts { try Self.use(state.keys, in: context) }
        }
    }

    func attach(_ context: NIOSSLContext) throws {
        try state.withLockedValue { state in
            try Self.use(state.keys, in: context)
            state.contexts.append(context)
        }
    }

    private static func keys(_ id: UInt8, _ publicName: String) throws -> ECHServerKeys {
        guard let keys = ECHServerKeys(id: id, publicName: publicName) else {
            throw TestingError(.unscripted, "there is no ECH key for \(publicName)")
        }
        return keys
    }

    private static func use(_ keys: ECHServerKeys, in context: NIOSSLContext) throws {
        guard keys.use(in: context) else { throw TestingError(.unscripted, "the context cannot use ECH keys") }
    }
}
