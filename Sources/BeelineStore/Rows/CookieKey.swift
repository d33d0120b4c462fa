// SPDX-License-Identifier: Apache-2.0

import CookieJar

/// The identity of a cookie (RFC 6265bis §5.7 step 23), with the partition of a partitioned cookie.
struct CookieKey: Hashable, Sendable {
    let domain: String
    let isHostOnly: Bool
    let path: String
    /// The partition as text; empty without one.
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

    /// A cookie with only this key, for removal from a jar.
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
