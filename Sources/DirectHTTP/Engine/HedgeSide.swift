// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// The role of a request in a hedge of two equal requests. The second request avoids the first one's endpoint if the origin has
/// another, because a slow response is mostly due to the server or the path to it.
package enum HedgeSide: Sendable {
    case first(Endpoints)
    /// Avoids the endpoints of the first.
    case second(Endpoints)
    /// Avoids the endpoints of earlier requests that failed, and records its own. It is no part of a hedge.
    case next(avoiding: Endpoints, recording: Endpoints)

    /// The endpoints that requests were sent to.
    package final class Endpoints: Sendable {
        private let endpoints = NIOLockedValueBox<Set<Endpoint>>([])

        package init() {}

        fileprivate var all: Set<Endpoint> { endpoints.withLockedValue { $0 } }

        fileprivate func insert(_ endpoint: Endpoint) { endpoints.withLockedValue { _ = $0.insert(endpoint) } }

        /// Adds the endpoints of a request that failed. If it reached none, the others cannot be reached, and none is
        /// avoided any more.
        package func add(failed other: Endpoints) {
            let others = other.all
            endpoints.withLockedValue { $0 = others.isEmpty ? [] : $0.union(others) }
        }

        /// Removes the endpoints of a request that was answered.
        package func remove(answered other: Endpoints) {
            let others = other.all
            endpoints.withLockedValue { $0.subtract(others) }
        }
    }

    func record(_ endpoint: Endpoint) {
        switch self {
        case .first(let endpoints), .next(avoiding: _, recording: let endpoints): endpoints.insert(endpoint)
        case .second: break
        }
    }

    /// Whether there are endpoints to avoid.
    var avoids: Bool { !taken.isEmpty }

    /// The endpoints to avoid; empty if the list has no others.
    func avoided(of list: [Endpoint]) -> Set<Endpoint> {
        let taken = taken
        return list.allSatisfy(taken.contains) ? [] : taken
    }

    private var taken: Set<Endpoint> {
        switch self {
        case .first: []
        case .second(let endpoints), .next(avoiding: let endpoints, recording: _): endpoints.all
        }
    }
}
