// SPDX-License-Identifier: Apache-2.0

import Names

/// A cache of answers, bounded by entries and by octets, that a flood of other names does not empty.
///
/// It has two lists in the order of use. A new entry is in the list of those that were never found. When it is found
/// within its TTL, it moves to the other list, which has at most three quarters of the cache. Entries that were never
/// found are evicted first, so that names that are asked once do not displace names that are asked again. The order
/// among the most recently used eighth is not maintained. Threads that use the same names therefore rarely write to it.
///
/// A hash table of indices into one array of nodes, which also form the linked lists. An entry with one address takes
/// about 300 octets, and a lookup allocates nothing.
struct AnswerCache {
    /// Identifies an entry.
    struct Key: Equatable {
        /// The canonical name, followed by a slash and the subnet if there is one.
        let name: String
        /// The network and the mode in which the answers were received.
        let scope: UInt32
        let hash: Int

        /// The key of a name with a known ``hash(of:)``.
        init(_ name: String, scope: UInt32, hash: Int) {
            self.name = name
            self.scope = scope
            self.hash = hash
        }

        /// The hash of a name. The seed is different in each process, so that an attacker cannot choose names that
        /// collide.
        static func hash(of name: String) -> Int {
            var hasher = Hasher()
            hasher.combine(name)
            return hasher.finalize()
        }
    }

    /// The value of an entry.
    struct Entry {
        /// The answer for IPv4; nil if unknown.
        var v4: Part?
        var v6: Part?
        /// The upstream that gave the answer.
        var provenance: Provenance
        /// The HTTPS records; nil if unknown.
        var services: ServiceAnswer?
        /// When the upstreams may be asked again for ``failed`` (RFC 8767 §5, RFC 9520). If ``failed`` is empty: when
        /// the next refresh may start before the TTL is over.
        var retryAt = Moment.past
        /// When failed attempts may force the next refresh.
        var forceAt = Moment.past
        /// The addresses in the order to try them, valid for ``order``.
        var ordered: [IPAddress] = []
        /// The parameters for which ``ordered`` is valid.
        var order = Order()
        /// How often the entry was found since it was stored.
        var uses: UInt32 = 0
        /// The families of the last failure. A failure for one family does not apply to the other.
        var failed: Families = []

        subscript(family: IPAddress.Family) -> Part? {
            get { family == .v4 ? v4 : v6 }
            set { if family == .v4 { v4 = newValue } else { v6 = newValue } }
        }
    }

    /// One family's part of an entry.
    struct Part: Hashable {
        /// The addresses; empty if there are none.
        var addresses: [IPAddress] = []
        /// The reason that there are no addresses.
        var absence: Answer.Absence?
        /// Whether the upstream confirmed the absence by a TTL (RFC 2308 §5).
        var isConfirmed = true
        var storedAt: Moment
        var expiresAt: Moment
    }

    /// The parameters of an order of addresses.
    struct Order: Equatable {
        var families: Families = []
        var port: UInt16 = 0
        var until = Moment.past
    }

    private let maxEntries: Int
    private let maxOctets: Int
    /// Index into `nodes` plus one; 0 is empty. The size is a power of two; at most two thirds are in use.
    private var slots: [Int32] = []
    private var nodes: ContiguousArray<Node> = []
    /// Unused nodes.
    private var free: [Int32] = []
    /// The entries that were not found within their TTL yet.
    private var unfound = List()
    /// The entries that were.
    private var found = List()
    /// How often an entry became the newest, modulo 2³².
    private var links: UInt32 = 0
    /// How many other entries may have become the newest before a found entry is moved to the front: an eighth of the
    /// capacity.
    private var slack: UInt32 = 0

    /// The estimated size of the entries, in octets.
    var octets: Int { unfound.octets + found.octets }
    /// The number of entries.
    var count: Int { unfound.count + found.count }

    init(maxEntries: Int, maxOctets: Int) {
        self.maxEntries = max(1, maxEntries)
        self.maxOctets = maxOctets
    }

    /// Lets `body` read and change the entry of a key and marks it as used; nil if there is none.
    ///
    /// `body` must not make the entry larger; use ``store(_:for:)`` for that. It adds to ``Entry/uses`` if it found an
    /// answer within its TTL.
    mutating func find<Result>(_ key: Key, _ body: (inout Entry) -> Result) -> Result? {
        guard let slot = slot(of: key) else { return nil }
        let index = slots[slot] - 1
        let uses = nodes[Int(index)].entry.uses
        let result = body(&nodes[Int(index)].entry)
        if !nodes[Int(index)].isFound, nodes[Int(index)].entry.uses != uses {
            move(index, isFound: true)
            // Its oldest entries get another chance among those that were never found.
            while isFoundFull { move(found.oldest, isFound: false) }
        } else if links &- nodes[Int(index)].linkedAt > slack {
            move(index, isFound: nodes[Int(index)].isFound)
        }
        return result
    }

    private var isFoundFull: Bool {
        found.count > 0 && (found.count > maxEntries - maxEntries / 4 || found.octets > maxOctets - maxOctets / 4)
    }

    /// Reads an entry without marking it as used.
    func peek(_ key: Key) -> Entry? {
        slot(of: key).map { nodes[Int(slots[$0] - 1)].entry }
    }

    /// Adds or replaces an entry, then evicts the oldest other entries until the bounds hold.
    mutating func store(_ entry: Entry, for key: Key) {
        let cost = Int32(clamping: Self.cost(of: entry, for: key))
        let index: Int32
        if let slot = slot(of: key) {
            index = slots[slot] - 1
            let (isFound, more) = (nodes[Int(index)].isFound, Int(cost) - Int(nodes[Int(index)].cost))
            if isFound { found.octets += more } else { unfound.octets += more }
            nodes[Int(index)].entry = entry
            nodes[Int(index)].cost = cost
            if index != (isFound ? found : unfound).newest { move(index, isFound: isFound) }
        } else {
            index = insert(Node(key: key, entry: entry, cost: cost))
        }
        while count > maxEntries || (octets > maxOctets && count > 1) {
            let oldest = unfound.oldest >= 0 && unfound.oldest != index ? unfound.oldest : found.oldest
            remove(nodes[Int(oldest)].key)
        }
        slack = UInt32(clamping: min(maxEntries, maxOctets / (octets / count)) / 8)
    }

    /// Removes an entry and returns whether there was one.
    @discardableResult
    mutating func remove(_ key: Key) -> Bool {
        guard var hole = slot(of: key) else { return false }
        let index = slots[hole] - 1
        // Move entries into the hole whose probe sequence crosses it.
        let mask = slots.count - 1
        var next = (hole + 1) & mask
        while slots[next] != 0 {
            let home = nodes[Int(slots[next] - 1)].key.hash & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = 0
        unlink(index)
        nodes[Int(index)].entry = Self.nothing
        free.append(index)
        return true
    }

    /// Removes all entries.
    mutating func removeAll() {
        self = AnswerCache(maxEntries: maxEntries, maxOctets: maxOctets)
    }

    /// Removes the entries for which `body` is true.
    mutating func removeAll(where body: (Key, Entry) -> Bool) {
        for node in all() where body(node.key, node.entry) { remove(node.key) }
    }

    /// All entries or the first `limit`: those that were found first, and the newest of each list first.
    func all(atMost limit: Int = .max) -> [(key: Key, entry: Entry)] {
        var result: [(Key, Entry)] = []
        for list in [found, unfound] {
            var index = list.newest
            while index >= 0, result.count < limit {
                let node = nodes[Int(index)]
                result.append((node.key, node.entry))
                index = node.older
            }
        }
        return result
    }

    // MARK: Hash table

    private func slot(of key: Key) -> Int? {
        guard !slots.isEmpty else { return nil }
        let mask = slots.count - 1
        var slot = key.hash & mask
        while slots[slot] != 0 {
            let index = Int(slots[slot] - 1)
            if nodes[index].key.hash == key.hash, nodes[index].key == key { return slot }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func insert(_ node: Node) -> Int32 {
        if (count + 1) * 3 > slots.count * 2 { grow() }
        let index: Int32
        if let reused = free.popLast() {
            index = reused
            nodes[Int(index)] = node
        } else {
            index = Int32(nodes.count)
            nodes.append(node)
        }
        place(index)
        link(index)
        return index
    }

    private mutating func grow() {
        slots = [Int32](repeating: 0, count: max(16, slots.count * 2))
        for list in [found, unfound] {
            var index = list.newest
            while index >= 0 {
                place(index)
                index = nodes[Int(index)].older
            }
        }
    }

    private mutating func place(_ index: Int32) {
        let mask = slots.count - 1
        var slot = nodes[Int(index)].key.hash & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = index + 1
    }

    // MARK: The order of use

    /// Makes a node the newest of a list.
    private mutating func move(_ index: Int32, isFound: Bool) {
        unlink(index)
        nodes[Int(index)].isFound = isFound
        link(index)
    }

    private mutating func link(_ index: Int32) {
        links &+= 1
        nodes[Int(index)].linkedAt = links
        if nodes[Int(index)].isFound { found.link(index, in: &nodes) } else { unfound.link(index, in: &nodes) }
    }

    private mutating func unlink(_ index: Int32) {
        if nodes[Int(index)].isFound { found.unlink(index, in: &nodes) } else { unfound.unlink(index, in: &nodes) }
    }

    // MARK: Cost

    private static let nothing = Entry(provenance: Provenance(upstream: "", kind: .service))

    /// The estimated size of an entry: its node and slot, the name, the addresses twice (``Entry/ordered`` may be a
    /// second copy), and the texts of upstreams.
    private static func cost(of entry: Entry, for key: Key) -> Int {
        let addresses = (entry.v4?.addresses.count ?? 0) + (entry.v6?.addresses.count ?? 0)
        let provenance = entry.provenance
        let texts = provenance.failures.reduce(provenance.extra?.utf8.count ?? 0) { $0 + $1.error.message.utf8.count }
        let services = entry.services?.octets ?? 0
        return MemoryLayout<Node>.stride + 16 + key.name.utf8.count + 32 + (addresses * 24 + 32) * 2 + texts + services
    }
}
