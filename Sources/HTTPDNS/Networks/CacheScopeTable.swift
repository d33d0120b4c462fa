// SPDX-License-Identifier: Apache-2.0

/// A partition of the cache: the system's answers, or the upstreams' answers in one network.
typealias CacheScope = UInt32

extension CacheScope {
    /// The system's answers while the switch is off.
    static let system: CacheScope = 0

    /// The scope for a probe of one upstream. Its answers are not kept.
    static func probe(_ upstream: Int) -> CacheScope { .max - UInt32(truncatingIfNeeded: upstream & 0xffff) }

    /// Whether answers are kept.
    var isKept: Bool { self <= .max - 0x1_0000 }
}

/// Assigns scopes to networks, so that cached answers are found again when the machine returns to a network.
struct CacheScopeTable {
    /// The maximum number of networks with cached answers.
    static let maxNetworks = 16

    private var scopes: [(id: String, scope: CacheScope)] = [("", 1)]
    private var next: CacheScope = 2

    /// The scope of the current network.
    var current: CacheScope { scopes.last?.scope ?? 1 }

    /// The known networks and their scopes.
    var all: [(id: String, scope: CacheScope)] { scopes }

    /// Makes a network the current one.
    ///
    /// - Returns: The scope of the network that is evicted, if any.
    mutating func enter(_ id: String) -> CacheScope? {
        if let known = scopes.firstIndex(where: { $0.id == id }) {
            scopes.append(scopes.remove(at: known))
            return nil
        }
        scopes.append((id, next))
        next += 1
        return scopes.count > Self.maxNetworks ? scopes.removeFirst().scope : nil
    }

    /// The scope of a network. A new network gets a scope if there is room, otherwise nil.
    mutating func scope(for id: String) -> CacheScope? {
        if let known = scopes.first(where: { $0.id == id }) { return known.scope }
        guard scopes.count < Self.maxNetworks else { return nil }
        defer { next += 1 }
        scopes.insert((id, next), at: 0)
        return next
    }
}
