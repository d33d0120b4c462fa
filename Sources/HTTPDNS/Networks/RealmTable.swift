// SPDX-License-Identifier: Apache-2.0

/// A manner of asking, whose answers do not mix with those of others: the system's, and the upstreams' in each network.
typealias Realm = UInt32

extension Realm {
    /// What the system says while the switch is off.
    static let system: Realm = 0

    /// What is asked of one upstream to see whether it is back; nothing is kept of it.
    static func probe(_ upstream: Int) -> Realm { .max - UInt32(truncatingIfNeeded: upstream & 0xffff) }

    /// Whether answers are kept.
    var isKept: Bool { self <= .max - 0x1_0000 }
}

/// Numbers for the networks that were met, so that answers are found again when one comes back.
struct RealmTable {
    /// Networks whose answers are kept.
    static let maxNetworks = 16

    private var realms: [(id: String, realm: Realm)] = [("", 1)]
    private var next: Realm = 2

    /// The realm of the network that was entered last.
    var current: Realm { realms.last?.realm ?? 1 }

    /// The known networks and their realms.
    var all: [(id: String, realm: Realm)] { realms }

    /// Enters a network.
    ///
    /// - Returns: The realm of a network that is forgotten for it.
    mutating func enter(_ id: String) -> Realm? {
        if let known = realms.firstIndex(where: { $0.id == id }) {
            realms.append(realms.remove(at: known))
            return nil
        }
        realms.append((id, next))
        next += 1
        return realms.count > Self.maxNetworks ? realms.removeFirst().realm : nil
    }

    /// The realm of a network, given one where it has none and there is room.
    mutating func realm(for id: String) -> Realm? {
        if let known = realms.first(where: { $0.id == id }) { return known.realm }
        guard realms.count < Self.maxNetworks else { return nil }
        defer { next += 1 }
        realms.insert((id, next), at: 0)
        return next
    }
}
