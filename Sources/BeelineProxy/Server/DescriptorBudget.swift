// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// How the descriptors that the process may have are dealt out, so that they do not run out: tunnels would break off in their
/// middle, and libdispatch ends a process in which it cannot open a file for itself.
struct DescriptorBudget {
    /// Clients that are served: a socket each, and one to the origin.
    let connections: Int
    /// Clients beyond those that are told so. Whoever comes when there are as many of them is closed at once.
    let refusals: Int

    /// - Parameters:
    ///   - connections: those that the configuration allows.
    ///   - descriptors: those that the process may have; nil: nobody knows.
    init(connections: Int, descriptors: Int? = DescriptorLimit.current) {
        // Half of this is for whatever else the process does.
        let reserve = min(512, (descriptors ?? .max) / 4)
        refusals = reserve / 2
        self.connections = min(connections, max(1, ((descriptors ?? .max) - reserve) / 2))
    }
}
