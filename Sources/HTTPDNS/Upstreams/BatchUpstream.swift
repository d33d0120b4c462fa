// SPDX-License-Identifier: Apache-2.0

public import Names

/// An upstream that answers several names in one round trip, which ``Resolver/prefetch(_:probing:)`` makes use of.
public protocol BatchUpstream: Upstream {
    /// Names that one question may have, at least 1.
    var maxNames: Int { get }

    /// Answers several questions with the same families.
    ///
    /// - Parameters:
    ///   - hosts: At most ``maxNames`` names.
    ///   - families: What is wanted of each.
    /// - Returns: What was said, by name. A name left out was not answered.
    func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer]
}

extension [Host: Answer] {
    /// The answer for the one name that was asked for.
    func only(_ host: Host) throws(UpstreamError) -> Answer {
        guard let answer = self[host] else {
            throw UpstreamError(.wrongAnswer, "the answer is not for this name")
        }
        return answer
    }
}

/// An upstream that is told by its service where to find it. ``Resolver/run()`` keeps it up to date, in
/// another network at once.
public protocol ScheduledUpstream: Upstream {
    /// Asks where the service is now.
    ///
    /// - Returns: After how long to ask again.
    func reschedule() async -> Duration
}
