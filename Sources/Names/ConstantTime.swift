// SPDX-License-Identifier: Apache-2.0

/// Comparison of secrets.
package enum ConstantTime {
    /// Whether two secrets are equal. The time does not depend on where they differ.
    package static func equal(_ one: String, _ other: String) -> Bool { equal(one.utf8, other.utf8) }

    /// Whether two secrets are equal. The time does not depend on where they differ.
    package static func equal(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        // The loop takes arrays because unspecialized generic code across modules is slow.
        let (one, other) = (Array(one), Array(other))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
