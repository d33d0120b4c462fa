// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// What makes two cookies the same one (RFC 6265bis §5.7 step 23), Partitioned ones by their partition too.
struct CookieKey: Hashable, Sendable {
    let domain: String
    let isHostOnly: Bool
    let path: String
    /// The partition as text; empty for none.
    let partition: String
    let name: [UInt8]

    init(_ cookie: Cookie) {
        self.init(
            domain: cookie.domain,
            isHostOnly: cookie.isHostOnly,
            path: cookie.path,
            partition: cookie.partition?.description ?? "",
            name: cookie.nameOctets
        )
    }

    init(domain: String, isHostOnly: Bool, path: String, partition: String, name: [UInt8]) {
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.partition = partition
        self.name = name
    }

    /// A cookie that has this key and nothing else, by which a jar finds the one to remove.
    var cookie: Cookie {
        Cookie(
            nameOctets: name,
            valueOctets: [],
            domain: domain,
            isHostOnly: isHostOnly,
            path: path,
            partition: partition.isEmpty ? nil : Site(partition)
        )
    }
}
