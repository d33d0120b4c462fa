// SPDX-License-Identifier: Apache-2.0

/// Answers that several resolvers share, such as those of servers behind one load balancer.
///
/// They are an aid and never a need: where they cannot be had soon, each resolver goes on alone. What is taken from them is
/// checked as what upstreams say.
public protocol SharedAnswers: Sendable {
    /// What an upstream said to any of the resolvers, with the TTLs that are left. It returns soon, whatever happens.
    ///
    /// - Parameters:
    ///   - question: What is asked; an answer for other families or another subnet is none.
    ///   - upstream: The upstream's name.
    /// - Returns: Nil where nothing is known of every family, where a tenth or less of a TTL is left, so that who asks in
    ///   time gets a newer answer, and where nothing can be had.
    func answer(to question: Question, from upstream: String) async -> Answer?

    /// Lets the other resolvers have an answer. Parts without a TTL are not shared.
    func share(_ answer: Answer, to question: Question, from upstream: String) async
}
