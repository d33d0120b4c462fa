// SPDX-License-Identifier: Apache-2.0

/// The response times of an upstream.
package struct UpstreamTimes: Hashable, Sendable {
    package private(set) var answers = DurationHistogram()
    /// The times after which questions failed.
    package private(set) var failures = DurationHistogram()

    package init() {}

    package mutating func record(_ time: Duration, isAnswer: Bool) {
        if isAnswer { answers.record(time) } else { failures.record(time) }
    }

    package mutating func add(_ other: UpstreamTimes) {
        answers.add(other.answers)
        failures.add(other.failures)
    }
}
