// SPDX-License-Identifier: Apache-2.0

/// The times that answers took, by upper bound.
struct TimeHistogram: Sendable {
    /// The upper bounds, in seconds.
    private static let bounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

    private var buckets = [Int](repeating: 0, count: bounds.count)
    /// The sum of all times, in seconds.
    private(set) var seconds = 0.0
    /// The number of times.
    private(set) var count = 0

    mutating func add(_ time: Duration) {
        let (whole, atto) = time.components
        let time = Double(whole) + Double(atto) / 1e18
        seconds += time
        count += 1
        if let index = Self.bounds.firstIndex(where: { time <= $0 }) { buckets[index] += 1 }
    }

    /// The number of times up to each bound.
    var cumulative: [(bound: Double, count: Int)] {
        var sum = 0
        return zip(Self.bounds, buckets).map { bound, count in
            sum += count
            return (bound, sum)
        }
    }
}
