// SPDX-License-Identifier: Apache-2.0

import Names

/// A request for a name, without the port.
struct LookupRequest: Sendable {
    let host: Host
    let families: Families
    let subnet: IPNetwork?
    /// The hash of ``key``, stored because a lookup needs it more than once.
    let hash: Int

    init(host: Host, families: Families, subnet: IPNetwork? = nil) {
        self.host = host
        self.families = families
        self.subnet = subnet
        hash = AnswerCache.Key.hash(of: Self.key(of: host, subnet: subnet))
    }

    /// The cache key of the answer: the name, and the subnet if there is one, after a slash, which no host name
    /// contains.
    var key: String { Self.key(of: host, subnet: subnet) }

    private static func key(of host: Host, subnet: IPNetwork?) -> String {
        guard let subnet else { return host.text }
        return "\(host.text)/\(subnet)"
    }
}

extension AnswerCache.Key {
    /// The cache key of a request.
    init(_ request: LookupRequest, scope: CacheScope) {
        self.init(request.key, scope: scope, hash: request.hash)
    }
}
