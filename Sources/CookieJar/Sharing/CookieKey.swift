// SPDX-License-Identifier: Apache-2.0

/// The identity of a cookie (RFC 6265bis §5.7 step 23), with the partition of a partitioned cookie.
package struct CookieKey: Hashable, Sendable {
    package let domain: String
    package let isHostOnly: Bool
    package let path: String
    /// The partition as text; empty without one.
    package let partition: String
    package let name: [UInt8]

    package init(_ cookie: Cookie) {
        self.init(
            domain: cookie.domain,
            isHostOnly: cookie.isHostOnly,
            path: cookie.path,
            partition: cookie.partition?.description ?? "",
            name: cookie.nameOctets
        )
    }

    /// Makes a key from what a store holds; nil if it cannot be one of a cookie.
    package init?(checking domain: String, isHostOnly: Bool, path: String, partition: String, name: [UInt8]) {
        // A partition that is not in canonical form would never match again.
        guard !domain.isEmpty, path.hasPrefix("/"), partition.isEmpty || Site(partition)?.description == partition
        else { return nil }
        self.init(domain: domain, isHostOnly: isHostOnly, path: path, partition: partition, name: name)
    }

    private init(domain: String, isHostOnly: Bool, path: String, partition: String, name: [UInt8]) {
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.partition = partition
        self.name = name
    }

    /// A cookie with only this key, for removal from a jar.
    package var cookie: Cookie {
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
