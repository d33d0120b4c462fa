// SPDX-License-Identifier: Apache-2.0

extension MessageForwarder {
    /// The limits that the resolver's configuration does not have.
    struct Limits: Sendable {
        /// The maximum number and the maximum estimated octets of the answers in each half of the cache.
        var maxAnswers = 10_000
        var maxOctets = 16 << 20
        /// The maximum number of concurrent queries. Further questions fail.
        var maxQueries = 1_024
        /// How long another upstream is asked first after the preferred one has failed.
        var failover = Duration.seconds(60)
        /// The number of consecutive questions without a response after which another upstream is asked first.
        var silencesUntilDown = 3
        /// The maximum number of concurrent queries while no upstream responds. Without this bound, a flood of names
        /// would open hundreds of sockets a second, which delays the answers for cached names.
        var maxQueriesWhileDown = 16
    }
}
