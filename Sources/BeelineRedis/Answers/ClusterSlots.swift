// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The servers of a cluster by slot, as learned from redirections. Empty for a server without a cluster.
struct ClusterSlots: Hashable, Sendable {
    private var hosts: [Int: RedisHost] = [:]

    var isEmpty: Bool { hosts.isEmpty }

    /// The server that has a key; nil for the given server.
    func host(of key: [UInt8]) -> RedisHost? { hosts[Self.slot(of: key)] }

    /// The server of a slot; nil for the given server.
    subscript(slot: Int) -> RedisHost? { hosts[slot] }

    /// Records the server of a slot; nil for the given server.
    mutating func move(_ slot: Int, to host: RedisHost?) { hosts[slot] = host }

    /// Forgets which slots a server has.
    mutating func forget(_ host: RedisHost) { hosts = hosts.filter { $0.value != host } }

    /// The slot of a key: CRC-16 (XMODEM) of its hash tag, the text between the first `{` and the next `}`. If the tag
    /// is absent or empty, the slot of the whole key.
    static func slot(of key: [UInt8]) -> Int {
        var part = key[...]
        if let begin = key.firstIndex(of: UInt8(ascii: "{")) {
            let rest = key[(begin + 1)...]
            if let end = rest.firstIndex(of: UInt8(ascii: "}")), end > rest.startIndex { part = rest[..<end] }
        }
        let sum = part.reduce(UInt16(0)) { sum, octet in
            (0..<8).reduce(sum ^ UInt16(octet) << 8) { sum, _ in sum << 1 ^ (sum & 0x8000 == 0 ? 0 : 0x1021) }
        }
        return Int(sum) % RedisRedirection.slots
    }
}
#endif
