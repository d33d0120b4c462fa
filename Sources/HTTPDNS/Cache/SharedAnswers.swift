// SPDX-License-Identifier: Apache-2.0

/// Answers that several resolvers share, such as those of servers behind one load balancer.
///
/// Sharing is optional: if the shared answers are not available quickly, each resolver asks its upstreams. Shared
/// answers are checked like upstreams' answers. They contain addresses only, so each resolver asks for HTTPS records
/// itself.
public protocol SharedAnswers: Sendable {
    /// The answer of an upstream to any of the resolvers, with the remaining TTLs. Must return quickly, also on
    /// failure.
    ///
    /// - Parameters:
    ///   - question: The question. Answers for other families or another subnet do not count.
    ///   - upstream: The upstream's name.
    /// - Returns: Nil if a family is missing or the answers are not available. Also nil if a tenth or less of a TTL is
    ///   left, so that the caller gets a newer answer in time.
    func answer(to question: Question, from upstream: String) async -> Answer?

    /// Shares an answer with the other resolvers. Parts without a TTL are not shared. Must return when its task is
    /// cancelled: ``Resolver/shutDown()`` cancels the task and waits for it.
    func share(_ answer: Answer, to question: Question, from upstream: String) async
}
