// SPDX-License-Identifier: Apache-2.0

import Names

/// Identifies a lookup in its table; no two have the same.
typealias LookupID = Int

/// The parameters that identify a lookup. Callers with the same key share a lookup.
struct LookupKey: Hashable {
    private let key: AnswerCache.Key
    private let families: Families

    init(_ request: LookupRequest, scope: CacheScope) {
        key = AnswerCache.Key(request, scope: scope)
        families = request.families
    }

    func hash(into hasher: inout Hasher) { hasher.combine(key.hash) }
}

/// A lookup under way, of addresses or of HTTPS records.
protocol KeyedLookup: Sendable {
    var key: LookupKey { get }
    /// When the lookup must be ticked.
    var nextTick: Moment { get }
}

/// The lookups of one kind under way, one for each key. ``ResolverConfiguration/Limits/maxLookups`` bounds them.
struct LookupTable<Element: KeyedLookup> {
    private var lookups: [LookupID: Element] = [:]
    private var idOfKey: [LookupKey: LookupID] = [:]
    private var lastID = 0

    var count: Int { lookups.count }
    /// The lookups under way, in the order in which they started.
    var ids: [LookupID] { lookups.keys.sorted() }
    /// When the first lookup must be ticked.
    var nextTick: Moment { lookups.values.lazy.map(\.nextTick).min() ?? .never }

    /// The lookup with a key; nil if none is under way.
    subscript(key: LookupKey) -> LookupID? { idOfKey[key] }

    /// A lookup; nil if it has ended.
    subscript(id: LookupID) -> Element? { lookups[id] }

    /// Changes a lookup in place; nil if it has ended.
    @discardableResult
    mutating func change<Value>(_ id: LookupID, _ body: (inout Element) -> Value) -> Value? {
        guard let index = lookups.index(forKey: id) else { return nil }
        return body(&lookups.values[index])
    }

    /// The lookups that must be ticked now, in the order in which they started.
    func due(at now: Moment) -> [LookupID] { lookups.filter { $0.value.nextTick <= now }.map(\.key).sorted() }

    /// Adds a lookup. Its key must not have another one.
    mutating func start(_ lookup: Element) -> LookupID {
        lastID += 1
        idOfKey[lookup.key] = lastID
        lookups[lastID] = lookup
        return lastID
    }

    /// Removes a lookup; nil if it has ended.
    mutating func remove(_ id: LookupID) -> Element? {
        guard let lookup = lookups.removeValue(forKey: id) else { return nil }
        idOfKey[lookup.key] = nil
        return lookup
    }
}
