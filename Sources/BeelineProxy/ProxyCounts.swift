// SPDX-License-Identifier: Apache-2.0

/// The current and total counts of a proxy.
public struct ProxyCounts: Hashable, Sendable {
    /// Open client connections.
    public var connections = 0
    /// Open tunnels.
    public var openTunnels = 0
    /// Tunnels opened since the start.
    public var tunnels = 0
    /// Requests forwarded since the start.
    public var forwarded = 0
    /// Requests refused since the start.
    public var refused = 0
}
