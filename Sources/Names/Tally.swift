// SPDX-License-Identifier: Apache-2.0

/// Counts for keys, such as the connections of each client. A key whose count is zero takes no memory.
package struct Tally<Key: Hashable> {
    // Inlinable, because unspecialized generic code across modules is slow.
    @usableFromInline var counts: [Key: Int] = [:]

    @inlinable package init() {}

    /// The count of a key.
    @inlinable package subscript(key: Key) -> Int { counts[key] ?? 0 }

    /// Adds to the count of a key, unless the sum exceeds a limit. Returns whether it has added.
    @discardableResult
    @inlinable package mutating func add(_ key: Key, _ amount: Int = 1, limit: Int = .max) -> Bool {
        let count = counts[key] ?? 0
        guard count <= limit - amount else { return false }
        counts[key] = count + amount
        return true
    }

    /// Subtracts from the count of a key, which does not fall below zero.
    @inlinable package mutating func remove(_ key: Key, _ amount: Int = 1) {
        guard let count = counts[key] else { return }
        counts[key] = count > amount ? count - amount : nil
    }
}

extension Tally: Sendable where Key: Sendable {}
