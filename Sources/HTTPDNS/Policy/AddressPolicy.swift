// SPDX-License-Identifier: Apache-2.0

import Names

/// The default policy table for destination addresses (RFC 6724 §2.1), without the rules that need the kernel's source
/// address for each.
enum AddressPolicy {
    private static let table: [(network: IPNetwork, precedence: Int)] = [
        ("::1/128", 50), ("::ffff:0:0/96", 35), ("2002::/16", 30), ("2001::/32", 5), ("fc00::/7", 3), ("::/96", 1),
        ("fec0::/10", 1), ("3ffe::/16", 1),
    ].compactMap { text, precedence in IPNetwork(text).map { ($0, precedence) } }

    /// The precedence of a destination: native IPv6 before IPv4, and both before tunnelled or local addresses.
    ///
    /// - Parameter local: The machine's own IPv6 address. A destination with the same label has the precedence of
    ///   native IPv6 (rule 5, matching labels).
    static func precedence(_ address: IPAddress, local: IPAddress?) -> Int {
        guard address.family == .v6 else { return 35 }
        guard let entry = table.first(where: { $0.network.contains(address) }) else {
            // If the machine's own address is tunnelled or local, IPv4 fits better (rule 5).
            return local.map { local in table.contains { $0.network.contains(local) } } ?? false ? 34 : 40
        }
        if let local, entry.network.contains(local) { return 40 }
        return entry.precedence
    }
}
