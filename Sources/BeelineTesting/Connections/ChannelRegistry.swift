// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// The open channels of a server, so that stopping the server can close them all.
final class ChannelRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isShut = false
    }

    /// The maximum number of open channels.
    static let limit = 4096

    private let state = NIOLockedValueBox(State())

    /// Registers the channel until it closes. Returns false if the registry is shut or full; the caller then closes the
    /// channel.
    func add(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let added = state.withLockedValue { state in
            guard !state.isShut, state.channels.count < Self.limit else { return false }
            state.channels[id] = channel
            return true
        }
        if added {
            channel.closeFuture.whenComplete { _ in self.state.withLockedValue { $0.channels[id] = nil } }
        }
        return added
    }

    /// Closes every channel without a TLS or HTTP/2 shutdown, rejects new ones, and returns when all are closed.
    func cutAll() async {
        let channels = state.withLockedValue { state in
            state.isShut = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.cut().get() }
        for channel in channels { try? await channel.closeFuture.get() }
    }
}
