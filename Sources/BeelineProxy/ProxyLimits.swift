// SPDX-License-Identifier: Apache-2.0

import Names

/// The limits of a proxy. A nil duration means no limit.
public struct ProxyLimits: Hashable, Sendable {
    /// The maximum number of client connections; further clients receive a 503. Default 10,000, reduced when the proxy
    /// starts to listen to fit the process's descriptor limit. A tunnel takes two descriptors, and two more while it connects
    /// to a host with several addresses. 48 to 512 stay reserved.
    public var connections = 10_000
    /// The maximum number of connections of one client, which is an IPv4 address or an IPv6 /64 network; further ones are closed.
    /// Nil means 1,000, and no limit for loopback addresses, which all programs on this machine share. Default nil.
    public var connectionsPerClient: Int?
    /// The time for a client's first byte, and again for the rest of a head or SOCKS request. Default 30 s.
    package var head: Duration? = .seconds(30)
    /// The maximum pause in a request's body. Tunnels use ``idle``. Default 2 min.
    public var body: Duration? = .seconds(120)
    /// The maximum time without progress while a client reads a response. Tunnels use ``idle``. Default 10 min.
    package var reply: Duration? = .seconds(600)
    /// The time from a request to a connection to its origin, including name resolution and all attempts. Default 20 s.
    public var connect: Duration? = .seconds(20)
    /// The maximum idle time of a tunnel or an exchange. Default 1 hour. A request at the gateway ends earlier if its origin is
    /// silent for the `idle` of the client's limits, 60 s by default.
    public var idle: Duration? = .seconds(3600)
    /// The maximum idle time of a tunnel after one side has ended, or of an exchange whose client has ended its input. While a peer
    /// still receives buffered bytes, this limit starts again, for at most 31 times its length. Default 2 min.
    package var halfClosed: Duration? = .seconds(120)
    /// The maximum duration of a tunnel. Default nil.
    public var total: Duration?
    /// The maximum idle time of a connection kept for the next request, on either side. Default 60 s.
    package var keepIdle: Duration = .seconds(60)
    /// The maximum number of idle connections kept per origin. Default 64.
    package var keptPerOrigin = 64
    /// The maximum number of idle connections kept to all origins. Default 512.
    package var kept = 512

    /// Creates the default limits.
    public init() {}

    /// The time for a peer to receive the last bytes of a connection that has ended.
    var lastBytes: Duration { halfClosed ?? .seconds(120) }

    /// The time after the end of one side in which bytes that a peer receives count as activity. Without this limit, a peer that
    /// receives one byte at a time could hold the connections and their buffers for days.
    var delivery: Duration { lastBytes * (Wire.maxExtensions + 1) }

    /// The effective ``connectionsPerClient`` for an address.
    func connectionsPerClient(at address: IPAddress) -> Int {
        connectionsPerClient ?? (address.isLoopback ? .max : 1_000)
    }

    /// The interval between checks of the time limits: an eighth of the shortest limit, between 10 ms and 2 s.
    var tick: Duration {
        let all = [head, body, reply, connect, idle, halfClosed, total, keepIdle].compactMap { $0 }
        let shortest = all.min() ?? .seconds(8)
        return min(max(shortest / 8, .milliseconds(10)), .seconds(2))
    }
}
