// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// The channels of a server that are open, so that its end can close them all.
final class ChannelRegistry: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isShut = false
    }

    private let state = NIOLockedValueBox(State())

    /// Keeps the channel until it closes; false when the registry is shut or full, and the channel is to be closed.
    func add(_ channel: any Channel, limit: Int) -> Bool {
        let id = ObjectIdentifier(channel)
        let added = state.withLockedValue { state in
            guard !state.isShut, state.channels.count < limit else { return false }
            state.channels[id] = channel
            return true
        }
        if added {
            channel.closeFuture.whenComplete { _ in self.state.withLockedValue { $0.channels[id] = nil } }
        }
        return added
    }

    /// Closes every channel without ceremony, takes no more, and returns when they are closed.
    func cutAll() async {
        let channels = state.withLockedValue { state in
            state.isShut = true
            return Array(state.channels.values)
        }
        for channel in channels { try? await channel.cut().get() }
        for channel in channels { try? await channel.closeFuture.get() }
    }
}
