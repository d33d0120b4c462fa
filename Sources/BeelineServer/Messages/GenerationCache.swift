// SPDX-License-Identifier: Apache-2.0

/// A bounded cache that drops the older half of its values at once. Lookups and inserts therefore take constant time.
///
/// A lookup moves a value to the younger half. The cache has at most twice `maxCount` values and twice `maxCost` of
/// cost.
struct GenerationCache<Key: Hashable, Value> {
    private let maxCount: Int
    private let maxCost: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    /// The cost of the young values.
    private var cost = 0
    private let costOf: @Sendable (Value) -> Int

    /// - Parameters:
    ///   - maxCount: The maximum number of values of one half.
    ///   - maxCost: The maximum cost of the values of one half.
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
        guard own <= maxCost else { return }
        if young.count >= maxCount || cost + own > maxCost {
            old = young
            young = [:]
            cost = 0
        }
        if let replaced = young.updateValue(value, forKey: key) { cost -= costOf(replaced) }
        old[key] = nil
        cost += own
    }

    mutating func remove(_ key: Key) {
        if let value = young.removeValue(forKey: key) { cost -= costOf(value) }
        old[key] = nil
    }

    mutating func removeAll() {
        young = [:]
        old = [:]
        cost = 0
    }
}

extension GenerationCache: Sendable where Key: Sendable, Value: Sendable {}
