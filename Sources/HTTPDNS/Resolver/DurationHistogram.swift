// SPDX-License-Identifier: Apache-2.0

/// The distribution of durations, with fixed buckets, so that histograms of several servers can be added.
package struct DurationHistogram: Hashable, Sendable {
    /// The upper bounds of the buckets, in seconds. Longer durations are in ``count`` only.
    package static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
    ]

    /// The number of durations in each bucket.
    package private(set) var buckets = [Int](repeating: 0, count: bounds.count)
    /// The sum of all durations, in seconds.
    package private(set) var seconds = 0.0
    /// The number of durations.
    package private(set) var count = 0

    package init() {}

    package mutating func record(_ duration: Duration) {
        let (whole, atto) = duration.components
        let time = Double(whole) + Double(atto) / 1e18
        seconds += time
        count += 1
        if let index = Self.bounds.firstIndex(where: { time <= $0 }) { buckets[index] += 1 }
    }

    package mutating func add(_ other: DurationHistogram) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        seconds += other.seconds
        count += other.count
    }
}
