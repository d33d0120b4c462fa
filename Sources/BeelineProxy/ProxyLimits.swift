// SPDX-License-Identifier: Apache-2.0

/// The bounds of a proxy. Nil means: for ever.
public struct ProxyLimits: Hashable, Sendable {
    /// Connections of clients at once; the next ones are answered 503. Default 10,000, but no more than the descriptors do
    /// that the process may have when the proxy begins to listen: a tunnel takes two, and up to 512 stay free for the rest.
    public var connections = 10_000
    /// How long the head of a request may take to come, the first byte of a kept connection's next one not counted.
    /// Default 30 s.
    public var head: Duration? = .seconds(30)
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

    /// How often the clock is looked at: often enough for the shortest of them.
    var tick: Duration {
        let all = [head, connect, idle, halfClosed, total, keepIdle].compactMap { $0 }
        let shortest = all.min() ?? .seconds(8)
        return min(max(shortest / 8, .milliseconds(10)), .seconds(2))
    }
}
