// SPDX-License-Identifier: Apache-2.0

/// A bounded cache that drops the older half of its values at once. Lookups and inserts therefore take constant time.
///
/// Values that were found again are kept apart from others, so that a flood of keys that are asked for once does not
/// displace them. The cache has at most about twice `maxCount` values and twice `maxCost` of cost.
struct GenerationCache<Key: Hashable, Value> {
    /// Values that were stored and not found yet.
    private var stored: Generations<Key, Value>
    /// Values that were found at least once.
    private var found: Generations<Key, Value>

    /// - Parameters:
    ///   - maxCount: The maximum number of values of one half.
    ///   - maxCost: The maximum cost of the values of one half.
    init(maxCount: Int, maxCost: Int, cost: @escaping @Sendable (Value) -> Int) {
        stored = Generations(maxCount: maxCount / 2, maxCost: maxCost / 2, cost: cost)
        found = stored
    }

    var count: Int { stored.count + found.count }

    mutating func find(_ key: Key) -> Value? {
        if let value = found.find(key) { return value }
        guard let value = stored.remove(key) else { return nil }
        found.store(value, for: key)
        return value
    }

    /// Adds or replaces a value. A value that costs more than half of `maxCost` is not stored.
    mutating func store(_ value: Value, for key: Key) {
        if found.remove(key) != nil { found.store(value, for: key) } else { stored.store(value, for: key) }
    }

    mutating func removeAll() {
        stored.removeAll()
        found.removeAll()
    }
}

extension GenerationCache: Sendable where Key: Sendable, Value: Sendable {}

/// Values in a younger and an older half. A lookup moves a value to the younger one.
private struct Generations<Key: Hashable, Value> {
    private let maxCount: Int
    private let maxCost: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    /// The cost of the young values.
    private var cost = 0
    private let costOf: @Sendable (Value) -> Int

    init(maxCount: Int, maxCost: Int, cost: @escaping @Sendable (Value) -> Int) {
        self.maxCount = max(1, maxCount)
        self.maxCost = maxCost
        costOf = cost
    }

    var count: Int { young.count + old.count }

    mutating func find(_ key: Key) -> Value? {
        if let value = young[key] { return value }
        guard let value = old.removeValue(forKey: key) else { return nil }
        store(value, for: key)
        return value
    }

    mutating func store(_ value: Value, for key: Key) {
        let own = costOf(value)
        guard own <= maxCost else {
            // Otherwise the value that it replaces would be found.
            _ = remove(key)
            return
        }
        if young.count >= maxCount || cost + own > maxCost {
            old = young
            young = [:]
            cost = 0
        }
        if let replaced = young.updateValue(value, forKey: key) { cost -= costOf(replaced) }
        old[key] = nil
        cost += own
    }

    mutating func remove(_ key: Key) -> Value? {
        if let value = young.removeValue(forKey: key) {
            cost -= costOf(value)
            return value
        }
        return old.removeValue(forKey: key)
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
        cost = 0
    }
}

extension Generations: Sendable where Key: Sendable, Value: Sendable {}
