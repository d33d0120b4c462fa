// SPDX-License-Identifier: Apache-2.0

public import Names

/// Which names are for the upstreams, and which belong to the system's resolver.
public struct NamePolicy: Hashable, Sendable {
    /// Domains that the upstreams are asked for; nil: all. Default: nil.
    public var allowed: DomainSet?
    /// Domains that the upstreams never hear of. It counts more than ``allowed``. Default: none.
    public var denied: DomainSet = []
    /// Domains that mean something in a local network alone (RFC 6762, RFC 8375, and what is used in practice), besides
    /// names of a single label. Default: `local`, `localdomain`, `internal`, `home.arpa`, `lan`, `intranet`, `private`,
    /// `corp`, `home`.
    public var privateDomains: DomainSet = [
        "local", "localdomain", "internal", "home.arpa", "lan", "intranet", "private", "corp", "home",
    ]
    /// The network's own search domains. Default: none.
    public var searchDomains: DomainSet = []
    /// How many installations take part; nil: all. Default: nil.
    public var canary: Canary?

    /// The defaults.
    public init() {}

    /// Whether the upstreams are asked for a name; otherwise the system is, and fixed tables.
    public func isForUpstreams(_ host: Host) -> Bool {
        guard canary?.isIncluded ?? true, !isPrivate(host), !denied.contains(host) else { return false }
        return allowed?.contains(host) ?? true
    }

    /// Whether a name means something in a local network alone.
    public func isPrivate(_ host: Host) -> Bool {
        !host.hasDots || privateDomains.contains(host) || searchDomains.contains(host)
    }
}
