// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// Distributes the process's file descriptors. Without descriptors, tunnels would fail, and libdispatch would end the
/// process if it cannot open a file.
///
/// Each client takes two descriptors: one for its own socket and one for the origin's. While a dial tries several endpoints at
/// once it takes more, from those that no client needs. Idle connections to origins get the rest.
struct DescriptorBudget {
    /// The maximum number of endpoints that a dial tries at once. With the default stagger each has at least 750 ms.
    static let maxAttempts = 3

    /// The maximum number of further clients that receive a refusal. Connections beyond that are closed at once.
    let refusals: Int
    private let connections: Int
    /// The descriptors for clients and origins.
    private let descriptors: Int
    /// The descriptors of all dials beyond one each.
    private(set) var extra: Int

    /// - Parameters:
    ///   - connections: the maximum number of clients.
    ///   - descriptors: the process's descriptor limit; nil if unknown.
    ///   - extra: the descriptors of the dials in progress beyond one each.
    init(connections: Int, descriptors: Int? = DescriptorLimit.current, extra: Int = 0) {
        // The rest of the reserve is for the process itself: its event loops, upstreams and files.
        let descriptors = descriptors ?? .max
        let reserve = DescriptorLimit.reserve(of: descriptors)
        refusals = min(reserve / 2, reserve - 40)
        self.descriptors = max(2, descriptors - reserve)
        self.connections = connections
        self.extra = extra
    }

    /// The number of clients that can be served now.
    var clients: Int { min(connections, max(1, (descriptors - extra) / 2)) }

    /// The number of idle connections that can be kept besides a number of clients.
    func idle(clients: Int) -> Int { max(0, descriptors - extra - 2 * clients) }

    /// Takes the descriptors for a dial. Returns how many of its endpoints it may try at once, at least 1.
    mutating func beginDial(to endpoints: Int, clients: Int) -> Int {
        let attempts = max(1, min(endpoints, Self.maxAttempts, 1 + idle(clients: clients)))
        extra += attempts - 1
        return attempts
    }

    /// Returns the descriptors of a dial.
    mutating func endDial(attempts: Int) { extra -= attempts - 1 }
}
