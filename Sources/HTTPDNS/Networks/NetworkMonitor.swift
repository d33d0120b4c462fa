// SPDX-License-Identifier: Apache-2.0

/// Says in which network the machine is, and when that may have changed.
public protocol NetworkMonitor: Sendable {
    /// The network now. It is asked after each sign of a change, and sends nothing.
    func current() -> Network

    /// Signs that the network may have changed, until the sequence is given up. Several that nobody has taken are one.
    func changes() -> AsyncStream<Void>
}

/// An upstream that does something about a change of network: connections that it keeps are of no use in another one, and
/// an IPv4 address may have to be dialled through a NAT64.
public protocol NetworkAware: Sendable {
    /// The machine is in another network, or more is known of the one that it is in.
    func networkChanged(to network: Network)
}
