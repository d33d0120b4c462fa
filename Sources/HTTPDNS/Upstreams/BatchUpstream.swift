// SPDX-License-Identifier: Apache-2.0

package import Names

/// An upstream that answers several names in one round trip; used by ``Resolver/prefetch(_:probing:)``.
package protocol BatchUpstream: Upstream {
    /// The maximum number of names per question, at least 1.
    var maxNames: Int { get }

    /// Answers for several names with the same families.
    ///
    /// - Parameters:
    ///   - hosts: At most ``maxNames`` names.
    ///   - families: The families to ask for.
    /// - Returns: The answers by name. A missing name was not answered.
    func answers(_ hosts: [Host], families: Families) async throws(UpstreamError) -> [Host: Answer]
}

extension [Host: Answer] {
    /// The answer for a single name.
    func only(_ host: Host) throws(UpstreamError) -> Answer {
        guard let answer = self[host] else {
            throw UpstreamError(.wrongAnswer, "the answer is not for this name")
        }
        return answer
    }
}

/// An upstream whose service provides the addresses to use. ``Resolver/run()`` updates them regularly, and at once
/// after a network change.
package protocol ScheduledUpstream: Upstream {
    /// Fetches the addresses of the service.
    ///
    /// - Returns: The time until the next call.
    func reschedule() async -> Duration
}
