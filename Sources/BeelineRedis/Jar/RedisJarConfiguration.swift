// SPDX-License-Identifier: Apache-2.0

#if Redis
import CookieJar

/// The place of a shared jar, and the limits of its use.
public struct RedisJarConfiguration: Sendable {
    /// The name of the jar: 1 to 200 letters, digits and `-_.@/`.
    public var name: String
    /// The server. Default: the defaults of ``RedisConfiguration``, but a time limit of 1 s and pauses of 100 ms to
    /// 5 s, because no request waits for the server.
    public var redis: RedisConfiguration
    /// Encrypts the cookies on the server. All processes of a jar must have the same key. Nil: the cookies are readable
    /// there. Default: nil.
    public var encryptionKey: RedisJarEncryptionKey?

    /// The maximum number of cookies and deletion records on the server. Above it, the oldest deletion record is
    /// dropped, and if there is none, a new cookie stays local. Default: 20,000; at most a million.
    public var maxRecords = 20_000
    /// How long the server keeps the record of a deleted cookie. A process that was away for longer removes the cookies
    /// that the server does not have. Default: 7 days.
    public var deletionLifetime = Duration.seconds(7 * 86_400)
    /// How long the server keeps a jar that no process changes. Default: 400 days.
    public var idleLifetime = Duration.seconds(400 * 86_400)
    /// The approximate number of changes in the feed. A process that is further behind reads the whole jar.
    /// Default: 10,000.
    package var feedLength = 10_000
    /// The maximum number of changes that wait for the server. With more, the whole jar is compared when the server is
    /// back. Default: 20,000.
    package var maxPendingChanges = 20_000
    /// The maximum time that one read of the feed waits on the server. After it, the state of the server is checked.
    /// Default: 1 s.
    package var feedWait = Duration.seconds(1)
    /// The maximum interval between periodic reads of the whole jar. Each interval is a random time from half of it to
    /// all of it. Default: 15 minutes.
    package var surveyInterval = Duration.seconds(900)
    /// How long reading the records of the whole jar may take. Default: 10 minutes.
    package var surveyLimit = Duration.seconds(600)
    /// How long the lease of a login lasts after its process has ended. The lease is renewed each third of this time.
    /// Default: 10 seconds; 100 ms to 1 day.
    public var leaseLifetime = Duration.seconds(10)
    /// How often a process that waits for another's login checks whether the lease has ended. Default: 250 ms.
    package var leasePolling = Duration.milliseconds(250)

    /// Without a key: whether ``RedisJar/synchronize(within:)`` fails with code `badKey` if the jar has encrypted
    /// cookies. If not, they are reported, and plain cookies are written beside them. Default: false.
    package var refusesEncryption = false

    /// Called with a problem that is not about reaching the server: a cookie that cannot be decrypted, or a full jar.
    /// At most eight different ones are reported. Runs on a thread of the jar, so it must not block. Default: nil.
    public var onProblem: (@Sendable (_ problem: String) -> Void)?

    /// Makes a configuration with the defaults.
    public init(name: String) {
        self.name = name
        redis = RedisConfiguration()
        redis.timeout = .seconds(1)
        redis.retryDelay = .milliseconds(100)...Duration.seconds(5)
    }

    /// ``maxRecords`` within its bounds.
    var boundedMaxRecords: Int { min(max(maxRecords, 1), 1_000_000) }

    /// The maximum size of a jar to read, in octets: ``maxRecords`` of the longest cookies, within 128 MiB and 1 GiB.
    var maxJarOctets: Int {
        let most = 1 << 30
        // The texts are in the record, and those of its key also in its field, with numbers and lengths beside them.
        let record = 2 * Cookie.maxOctets + 256
        return boundedMaxRecords > most / record ? most : max(128 << 20, boundedMaxRecords * record)
    }

    /// ``leaseLifetime`` within its bounds.
    var boundedLeaseLifetime: Duration { min(max(leaseLifetime, .milliseconds(100)), .seconds(86_400)) }
}
#endif
