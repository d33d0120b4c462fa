// SPDX-License-Identifier: Apache-2.0

import Names

/// What a caller wants of a name, without the port.
struct Wanted: Hashable, Sendable {
    var host: Host
    var families: Families
    var subnet: IPNetwork?

    /// What the answer is filed under: the name, with the subnet where there is one. No host name holds a slash.
    var key: String {
        guard let subnet else { return host.text }
        return "\(host.text)/\(subnet)"
    }
}
