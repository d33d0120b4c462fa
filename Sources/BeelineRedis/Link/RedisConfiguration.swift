// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The location of a Redis or Valkey server, and the limits of its use.
public struct RedisConfiguration: Sendable {
    /// The host name or address of the server. A name is looked up by the system's resolver each time that a connection
    /// is opened. Default: `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The port of the server. Default: 6379.
    public var port: UInt16 = 6_379
    /// The Sentinels that know the present server. They are asked for each connection, and ``host`` and ``port`` are
    /// ignored. Nil: the server is the given one. Default: nil.
    public var sentinel: RedisSentinel?
    /// The settings of TLS, also for the Sentinels. Nil: the connection is not secured. Default: nil.
    public var tls: RedisTLS?
    /// The user to log in. Nil for the server's default user. Default: nil.
    public var user: String?
    /// The password. Nil to skip the login. Default: nil.
    public var password: String?
    /// The number of the database. Default: 0.
    public var database = 0
    /// The prefix of all keys. Default: `beeline:`.
    public var prefix = "beeline:"
    /// The time limit of one exchange. After it the server counts as unavailable. Default: 50 ms.
    public var timeout = Duration.milliseconds(50)
    /// The pause before an unavailable server is tried again. It starts at the lower bound and doubles with each
    /// failure, up to the upper bound. Default: 1 s to 30 s.
    public var retryDelay = Duration.seconds(1)...Duration.seconds(30)
    /// The maximum number of questions that wait for the server. Further questions skip it. Default: 1,024.
    package var maxWaiting = 1_024
    /// The maximum time that the server keeps an answer, regardless of its TTL. Default: 1 day.
    public var maxTTL = Duration.seconds(86_400)

    /// Called with the reason when the server cannot be used: it cannot be reached, is too slow, or refuses the login
    /// or a command. Each reason is reported once until the server works again. Runs on the thread of the connection,
    /// so it must not block. Default: nil.
    public var onUnavailable: (@Sendable (_ reason: String) -> Void)?

    /// Makes a configuration with the defaults.
    public init() {}

    /// ``timeout``, bounded because the socket calls treat zero as no limit and refuse large values.
    var boundedTimeout: Duration { min(max(timeout, .milliseconds(1)), .seconds(3_600)) }
}

extension RedisConfiguration: CustomReflectable {
    /// Shows the settings in `print` and `dump`, without the password.
    public var customMirror: Mirror {
        let children: KeyValuePairs<String, Any> = [
            "host": host, "port": port, "sentinel": sentinel as Any, "tls": tls as Any, "user": user as Any,
            "password": password == nil ? "none" : "not shown", "database": database, "prefix": prefix,
            "timeout": timeout, "retryDelay": retryDelay, "maxTTL": maxTTL,
        ]
        return Mirror(self, children: children, displayStyle: .struct)
    }
}

/// The Sentinels that know the present server of a service.
public struct RedisSentinel: Hashable, Sendable {
    /// The Sentinels, asked in order. At most 16 are asked.
    public var hosts: [RedisHost]
    /// The name of the service.
    public var service: String

    /// Makes the Sentinels of a service.
    public init(hosts: [RedisHost], service: String) { (self.hosts, self.service) = (hosts, service) }
}

/// The settings of TLS. The certificate and the host name are always verified.
public struct RedisTLS: Hashable, Sendable {
    /// A file with the certificates of the trusted authorities in PEM form, at most 4 MiB. Nil: those of the system.
    /// Default: nil.
    public var authorityFile: String?

    /// Makes the settings.
    public init(authorityFile: String? = nil) { self.authorityFile = authorityFile }
}
#endif
