// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// Distributes the process's file descriptors. Without descriptors, tunnels would fail, and libdispatch would end the
/// process if it cannot open a file.
struct DescriptorBudget {
    /// The maximum number of served clients. Each takes two descriptors: one for its own socket and one for the origin's.
    let connections: Int
    /// The maximum number of further clients that receive a refusal. Connections beyond that are closed at once.
    let refusals: Int

    /// - Parameter descriptors: the process's descriptor limit; nil if unknown.
    init(connections: Int, descriptors: Int? = DescriptorLimit.current) {
        // Half of the reserve is for the rest of the process.
        let reserve = min(512, (descriptors ?? .max) / 4)
        refusals = reserve / 2
        self.connections = min(connections, max(1, ((descriptors ?? .max) - reserve) / 2))
    }
}
