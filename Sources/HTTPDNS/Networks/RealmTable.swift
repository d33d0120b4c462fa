// SPDX-License-Identifier: Apache-2.0

/// A partition of the cache: the system's answers, or the upstreams' answers in one network.
typealias Realm = UInt32

extension Realm {
    /// The system's answers while the switch is off.
    static let system: Realm = 0

    /// The realm for a probe of one upstream, whose answers are not kept.
    static func probe(_ upstream: Int) -> Realm { .max - UInt32(truncatingIfNeeded: upstream & 0xffff) }

    /// Whether answers are kept.
    var isKept: Bool { self <= .max - 0x1_0000 }
}

/// Assigns realms to networks, so that cached answers are found again when the machine returns to a network.
struct RealmTable {
    /// The maximum number of networks whose answers are kept.
    static let maxNetworks = 16

    private var realms: [(id: String, realm: Realm)] = [("", 1)]
    private var next: Realm = 2

    /// The realm of the current network.
    var current: Realm { realms.last?.realm ?? 1 }

    /// The known networks and their realms.
    var all: [(id: String, realm: Realm)] { realms }

    /// Makes a network the current one.
    ///
    /// - Returns: The realm of the network that is evicted, if any.
    mutating func enter(_ id: String) -> Realm? {
        if let known = realms.firstIndex(where: { $0.id == id }) {
            realms.append(realms.remove(at: known))
            return nil
        }
        realms.append((id, next))
        next += 1
        return realms.count > Self.maxNetworks ? realms.removeFirst().realm : nil
    }

    /// The realm of a network. A new network gets a realm if there is room, otherwise nil.
    mutating func realm(for id: String) -> Realm? {
        if let known = realms.first(where: { $0.id == id }) { return known.realm }
        guard realms.count < Self.maxNetworks else { return nil }
        defer { next += 1 }
        realms.insert((id, next), at: 0)
        return next
    }
}
