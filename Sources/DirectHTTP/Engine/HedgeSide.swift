// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

/// The endpoints that a request avoids if the origin has others, and the list where its own endpoint is recorded.
///
/// The second request of a hedge avoids the endpoint of the first, because a slow response is mostly due to the server or
/// the path to it. A request outside of a hedge may avoid the endpoints of earlier ones that failed.
package struct HedgeSide: Sendable {
    private let taken: Endpoints?
    /// Where the endpoint of this request is recorded; nil: nowhere.
    package let recorded: Endpoints?

    package init(avoiding taken: Endpoints? = nil, recording recorded: Endpoints? = nil) {
        self.taken = taken
        self.recorded = recorded
    }

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

    func record(_ endpoint: Endpoint) { recorded?.insert(endpoint) }

    /// Whether there are endpoints to avoid.
    var avoids: Bool { taken.map { !$0.all.isEmpty } ?? false }

    /// The endpoints to avoid; empty if the list has no others.
    func avoided(of list: [Endpoint]) -> Set<Endpoint> {
        let endpoints = taken?.all ?? []
        return list.allSatisfy(endpoints.contains) ? [] : endpoints
    }
}
