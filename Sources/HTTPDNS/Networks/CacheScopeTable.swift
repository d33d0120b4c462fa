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

    /// The known networks and their scopes; the current network is the last.
    private(set) var all: [(id: String, scope: CacheScope)] = [("", 1)]
    private var next: CacheScope = 2

    /// The scope of the current network.
    var current: CacheScope { all.last?.scope ?? 1 }

    /// Gives the scope of the unknown network to the first network that is found, if no other has answers.
    mutating func nameFirstNetwork(_ id: String) {
        if all.count == 1, all[0].id.isEmpty { all[0].id = id }
    }

    /// Makes a network the current one.
    ///
    /// - Returns: The scope of the network that is evicted, if any.
    mutating func enter(_ id: String) -> CacheScope? {
        if let known = all.firstIndex(where: { $0.id == id }) {
            all.append(all.remove(at: known))
            return nil
        }
        all.append((id, next))
        next += 1
        return all.count > Self.maxNetworks ? all.removeFirst().scope : nil
    }

    /// The scope of a network. A new network gets a scope if there is room, otherwise nil.
    mutating func scope(for id: String) -> CacheScope? {
        if let known = all.first(where: { $0.id == id }) { return known.scope }
        guard all.count < Self.maxNetworks else { return nil }
        defer { next += 1 }
        all.insert((id, next), at: 0)
        return next
    }
}
