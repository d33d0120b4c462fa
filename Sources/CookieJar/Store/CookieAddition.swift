// SPDX-License-Identifier: Apache-2.0

/// The result of inserting several cookies in one step.
package struct CookieAddition: Hashable, Sendable {
    /// The outcome of each cookie. `.rejected(.noRoom)` if a later cookie evicted it.
    package fileprivate(set) var outcomes: [CookieOutcome] = []
    /// The number of evicted cookies, both inserted ones and earlier ones.
    package fileprivate(set) var dropped = 0
    /// The number of evicted cookies that were in the jar before.
    package fileprivate(set) var displaced = 0
}

extension CookieStore {
    /// Stores cookies with `insert` and determines which of them were evicted again.
    mutating func addition(
        of cookies: [Cookie],
        by insert: (inout CookieStore, Cookie) -> CookieOutcome
    ) -> CookieAddition {
        let (counted, first) = (evicted, nextSequence)
        evicted = []
        var addition = CookieAddition()
        let sequences = cookies.map { cookie in
            addition.outcomes.append(insert(&self, cookie))
            return lastStored
        }
        let gone = evicted ?? []
        evicted = counted?.union(gone)
        addition.dropped = gone.count
        addition.displaced = gone.count { $0 < first }
        for (index, sequence) in sequences.enumerated() where gone.contains(sequence) {
            switch addition.outcomes[index] {
            case .kept, .replaced: addition.outcomes[index] = .rejected(.noRoom)
            case .deleted, .rejected: break
            }
        }
        return addition
    }
}
