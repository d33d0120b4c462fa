// SPDX-License-Identifier: Apache-2.0

import Names

/// The default policy table for destinations (RFC 6724 §2.1), as far as it decides without asking the kernel for the
/// source address of each.
enum AddressPolicy {
    private static let table: [(network: IPNetwork, precedence: Int)] = [
        ("::1/128", 50), ("2002::/16", 30), ("2001::/32", 5), ("fc00::/7", 3), ("::/96", 1), ("fec0::/10", 1),
        ("3ffe::/16", 1),
    ].compactMap { text, precedence in IPNetwork(text).map { ($0, precedence) } }

    /// How much a destination is preferred: native IPv6 before IPv4, both before what is tunnelled or local.
    ///
    /// - Parameter local: The machine's own IPv6 address. A destination of the same kind is as good as native
    ///   (rule 5, matching labels).
    static func precedence(_ address: IPAddress, local: IPAddress?) -> Int {
        guard address.family == .v6 else { return 35 }
        guard let entry = table.first(where: { $0.network.contains(address) }) else {
            // A machine whose own address is tunnelled or local: IPv4 fits better (rule 5).
            return local.map { local in table.contains { $0.network.contains(local) } } ?? false ? 34 : 40
        }
        if let local, entry.network.contains(local) { return 40 }
        return entry.precedence
    }
}
