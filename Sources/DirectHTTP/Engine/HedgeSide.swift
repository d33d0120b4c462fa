// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// The role of a request in a hedge of two equal requests. The second request avoids the first one's endpoint if the origin has
/// another, because a slow response is mostly due to the server or the path to it.
package enum HedgeSide: Sendable {
    case first(Endpoints)
    /// Avoids the endpoints of the first.
    case second(Endpoints)

    /// The endpoints that the first request was sent to.
    package final class Endpoints: Sendable {
        private let endpoints = NIOLockedValueBox<Set<Endpoint>>([])

        package init() {}

        fileprivate var all: Set<Endpoint> { endpoints.withLockedValue { $0 } }

        fileprivate func insert(_ endpoint: Endpoint) { endpoints.withLockedValue { _ = $0.insert(endpoint) } }
    }

    func record(_ endpoint: Endpoint) { if case .first(let endpoints) = self { endpoints.insert(endpoint) } }

    /// The endpoints to avoid; empty if the list has no others.
    func avoided(of list: [Endpoint]) -> Set<Endpoint> {
        guard case .second(let endpoints) = self else { return [] }
        let taken = endpoints.all
        return list.allSatisfy(taken.contains) ? [] : taken
    }
}
