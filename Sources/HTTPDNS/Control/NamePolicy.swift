// SPDX-License-Identifier: Apache-2.0

package import Names

/// Decides which names are for the upstreams and which for the system's resolver.
public struct NamePolicy: Hashable, Sendable {
    /// The domains for the upstreams; nil: all. Default: nil.
    public var allowed: DomainSet?
    /// Domains that are never sent to the upstreams. Takes precedence over ``allowed``. Default: none.
    public var denied: DomainSet = []
    /// Domains that are valid only in a local network (RFC 6762, RFC 8375, and common practice). Names with a single
    /// label are always private. Default: `local`, `localdomain`, `internal`, `home.arpa`, `lan`, `intranet`,
    /// `private`, `corp`, `home`.
    public var privateDomains: DomainSet = [
        "local", "localdomain", "internal", "home.arpa", "lan", "intranet", "private", "corp", "home",
    ]
    /// The network's search domains. Default: none.
    public var searchDomains: DomainSet = []
    /// Whether the upstreams know Tor, so that they are asked for its names (RFC 7686 §2). Default: false.
    package var asksForOnion = false
    /// The installations that take part; nil: all. Default: nil.
    public var canary: Canary?

    /// The defaults.
    public init() {}

    /// Whether the upstreams are asked for a name. If not, fixed tables and the system are.
    package func isForUpstreams(_ host: Host) -> Bool {
        (canary?.isIncluded ?? true) && !isKept(host)
    }

    /// Whether a name is never sent to the upstreams, regardless of the canary, which applies to all names alike.
    func isKept(_ host: Host) -> Bool {
        isPrivate(host) || denied.contains(host) || !(allowed?.contains(host) ?? true)
    }

    /// Whether a name is valid only in a local network.
    package func isPrivate(_ host: Host) -> Bool {
        !host.hasDots || privateDomains.contains(host) || searchDomains.contains(host)
            || !asksForOnion && Self.isOnion(host)
    }

    private static let onion: DomainSet = ["onion"]

    /// Whether a name belongs to Tor. The system and upstreams that do not know Tor may not learn it (RFC 7686 §2).
    static func isOnion(_ host: Host) -> Bool { onion.contains(host) }
}
