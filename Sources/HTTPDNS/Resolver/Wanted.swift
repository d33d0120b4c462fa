// SPDX-License-Identifier: Apache-2.0

import Names

/// What a caller wants of a name, without the port.
struct Wanted: Sendable {
    let host: Host
    let families: Families
    let subnet: IPNetwork?
    /// The hash of ``key``, which a look-up needs more than once.
    let hash: Int

    init(host: Host, families: Families, subnet: IPNetwork? = nil) {
        self.host = host
        self.families = families
        self.subnet = subnet
        hash = AnswerCache.Key.hash(of: Self.key(host, subnet))
    }

    /// What the answer is filed under: the name, with the subnet where there is one. No host name holds a slash.
    var key: String { Self.key(host, subnet) }

    private static func key(_ host: Host, _ subnet: IPNetwork?) -> String {
        guard let subnet else { return host.text }
        return "\(host.text)/\(subnet)"
    }
}

extension AnswerCache.Key {
    /// Where the answers to this are.
    init(_ wanted: Wanted, _ realm: Realm) {
        self.init(wanted.key, realm: realm, hash: wanted.hash)
    }
}
