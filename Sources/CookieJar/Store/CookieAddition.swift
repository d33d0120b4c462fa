// SPDX-License-Identifier: Apache-2.0

/// What became of cookies that were put into a jar together.
package struct CookieAddition: Hashable, Sendable {
    /// What became of each; `.rejected(.noRoom)` where it gave way to a later one.
    package fileprivate(set) var outcomes: [CookieOutcome] = []
    /// How many cookies the jar lost because it, or a domain, was full: of these, and of those that it had before.
    package fileprivate(set) var dropped = 0
    /// How many of them the jar had before.
    package fileprivate(set) var displaced = 0
}

extension CookieStore {
    /// Puts cookies into the store by `insert`, and finds out which of them are still there at the end.
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
