// SPDX-License-Identifier: Apache-2.0

extension MessageForwarder {
    /// The limits of the cache and of queries.
    struct Limits: Sendable {
        /// The maximum number and the maximum estimated octets of the answers in each half of the cache.
        var maxAnswers = 10_000
        var maxOctets = 16 << 20
        /// The maximum number of concurrent queries. Further questions fail.
        var maxQueries = 1_024
        /// The time limits for one upstream, and for all of them together.
        var upstream = Duration.seconds(2)
        var total = Duration.seconds(5)
        /// The maximum time that an answer is cached, and the maximum time after its TTL that it may be used.
        var maxTTL = Duration.seconds(86_400)
        var maxStale = Duration.seconds(43_200)
        /// The maximum time that the absence of records is cached.
        var maxNegativeTTL = Duration.seconds(300)
        /// How long another upstream is asked first after the preferred one has failed.
        var failover = Duration.seconds(60)
        /// The number of consecutive questions without a response after which another upstream is asked first.
        var silencesUntilDown = 3
        /// The maximum number of concurrent queries while no upstream responds. Without this bound, a flood of names
        /// would open hundreds of sockets a second, which delays the answers for cached names.
        var maxQueriesWhileDown = 16
        /// How long a question waits for upstreams if there is an answer past its TTL (RFC 8767 §5).
        var staleAnswerDelay = Duration.milliseconds(1_800)
        /// How long a failure is cached (RFC 9520 §3.2), and how long a stale answer is used before upstreams are asked
        /// again.
        var failureTTL = Duration.seconds(1)
        var staleRecheck = Duration.seconds(30)
    }
}
