// SPDX-License-Identifier: Apache-2.0

/// What a proxy has at the moment, and has had.
public struct ProxyCounts: Hashable, Sendable {
    /// Connections of clients that are open.
    public var connections = 0
    /// Tunnels that are open.
    public var openTunnels = 0
    /// Tunnels since the start.
    public var tunnels = 0
    /// Requests that were forwarded since the start.
    public var forwarded = 0
    /// Requests that were refused since the start.
    public var refused = 0
}
