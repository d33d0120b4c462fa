// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Detects that the machine slept. During sleep, all timers and `NIODeadline` stand still, so an idle connection seems
/// fresh. In fact its server may have closed it long ago, and the network may have changed.
package struct SleepWatch: Sendable {
    /// A time on a clock that stands still while the machine sleeps, and on one that continues.
    package typealias Moment = (awake: NIODeadline, elapsed: ContinuousClock.Instant)

    package static var now: Moment { (awake: .now(), elapsed: .now) }

    /// The shortest sleep that counts.
    static let shortest = Duration.seconds(5)

    private var last: Moment

    package init(now: Moment) { last = now }

    /// Whether the machine slept since the last call.
    package mutating func hasSlept(now: Moment) -> Bool {
        defer { last = now }
        return last.elapsed.duration(to: now.elapsed) - Duration(now.awake - last.awake) >= Self.shortest
    }
}
