// SPDX-License-Identifier: Apache-2.0

#if Redis
/// Where a Redis or Valkey server is, and the bounds within which it is used.
public struct RedisConfiguration: Sendable {
    /// The server's name or address. Default: `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The server's port. Default: 6379.
    public var port: UInt16 = 6_379
    /// The user who logs in; nil: the server's default user. Default: nil.
    public var user: String?
    /// The password; nil: nobody logs in. Default: nil.
    public var password: String?
    /// The number of the database. Default: 0.
    public var database = 0
    /// What all keys begin with. Default: `beeline:`.
    public var prefix = "beeline:"
    /// How long the server may take for one exchange; after that it counts as away. Default: 50 ms.
    public var patience = Duration.milliseconds(50)
    /// How long a server that was away is left alone; it doubles with each failure, up to the upper bound. Default: 1 s to
    /// 30 s.
    public var pause = Duration.seconds(1)...Duration.seconds(30)
    /// Questions that may wait for the server; more go without it. Default: 1,024.
    public var maxWaiting = 1_024
    /// The longest time that an answer is kept there, whatever its TTL. Default: 1 day.
    public var maxTTL = Duration.seconds(86_400)

    /// The defaults.
    public init() {}
}
#endif
