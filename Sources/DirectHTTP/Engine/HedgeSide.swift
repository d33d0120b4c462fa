// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// Which of two equal requests of a hedge one is: the second goes to another endpoint than the first, where the origin has one.
/// What is slow is mostly a server or the way to it.
package enum HedgeSide: Sendable {
    /// It notes where it goes.
    case first(Endpoints)
    /// It goes elsewhere.
    case second(Endpoints)

    /// Where the first request has been sent.
    package final class Endpoints: Sendable {
        private let endpoints = NIOLockedValueBox<Set<Endpoint>>([])

        /// None yet.
        package init() {}

        fileprivate var all: Set<Endpoint> { endpoints.withLockedValue { $0 } }

        fileprivate func insert(_ endpoint: Endpoint) { endpoints.withLockedValue { _ = $0.insert(endpoint) } }
    }

    func note(_ endpoint: Endpoint) {
        if case .first(let endpoints) = self { endpoints.insert(endpoint) }
    }

    /// The endpoints to avoid, of those that there are; none where there are no others.
    func avoided(of list: [Endpoint]) -> Set<Endpoint> {
        guard case .second(let endpoints) = self else { return [] }
        let taken = endpoints.all
        return list.allSatisfy(taken.contains) ? [] : taken
    }
}
