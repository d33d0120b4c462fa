// SPDX-License-Identifier: Apache-2.0

/// Reports the machine's network and its changes.
public protocol NetworkMonitor: Sendable {
    /// The current network. Called at the start and after each possible change. It must not send packets.
    func current() -> Network

    /// Yields when the network may have changed, until the sequence is released. Signals that were not consumed are
    /// merged into one.
    func changes() -> AsyncStream<Void>
}

/// An upstream that reacts to a network change: its connections no longer work in another network, and IPv4 addresses
/// may need NAT64.
package protocol NetworkAware: Sendable {
    /// The machine is in another network, or more is known of the current one.
    func networkChanged(to network: Network)
}
