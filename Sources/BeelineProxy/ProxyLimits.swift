// SPDX-License-Identifier: Apache-2.0

import Names

/// The bounds of a proxy. Nil means: for ever.
public struct ProxyLimits: Hashable, Sendable {
    /// Connections of clients at once; the next ones are answered 503. Default 10,000, but no more than the descriptors do
    /// that the process may have when the proxy begins to listen: a tunnel takes two, and up to 512 stay free for the rest.
    public var connections = 10_000
    /// Connections of one client at once, an IPv4 address or an IPv6 network of 64 bits; the next ones are closed. Nil:
    /// 1,000, and no limit for a loopback address, which all programs of this machine share. Default nil.
    public var connectionsPerClient: Int?
    /// How long a client may take to its first byte, and from there to the end of a request's head or of a SOCKS request.
    /// Default 30 s.
    public var head: Duration? = .seconds(30)
    /// How long a client may pause in the body of a request. Tunnels have ``idle``. Default 2 min.
    public var body: Duration? = .seconds(120)
    /// How long a client may read nothing of a reply that waits for it. Tunnels have ``idle``. Default 10 min.
    public var reply: Duration? = .seconds(600)
    /// From a request to a connection to its origin: the name and all attempts. Default 20 s.
    public var connect: Duration? = .seconds(20)
    /// How long a tunnel or an exchange may rest. Default 1 hour.
    public var idle: Duration? = .seconds(3600)
    /// How long a tunnel may rest of which one side has ended, or an exchange whose client will send no more. Default 2 min.
    public var halfClosed: Duration? = .seconds(120)
    /// How long a tunnel may last. Default nil.
    public var total: Duration?
    /// How long a connection that was kept for the next request may rest, on either side. Default 60 s.
    public var keepIdle: Duration = .seconds(60)
    /// Connections to one origin that are kept for the next request. Default 64.
    public var keptPerOrigin = 64
    /// Connections to origins that are kept, in all. Default 512.
    public var kept = 512

    /// The defaults.
    public init() {}

    /// ``connectionsPerClient`` of the client at an address.
    func connectionsPerClient(at address: IPAddress) -> Int {
        connectionsPerClient ?? (address.isLoopback ? .max : 1_000)
    }

    /// How often the clock is looked at: often enough for the shortest of them.
    var tick: Duration {
        let all = [head, body, reply, connect, idle, halfClosed, total, keepIdle].compactMap { $0 }
        let shortest = all.min() ?? .seconds(8)
        return min(max(shortest / 8, .milliseconds(10)), .seconds(2))
    }
}
