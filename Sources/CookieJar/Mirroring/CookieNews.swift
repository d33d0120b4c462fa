// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// Collects the changes of a jar since the last call of `take()`: the last change in each place. For code that compares two
/// stores and needs the time and cause of a change.
package final class CookieNews: CookieFollower {
    private struct State {
        var changes: [CookiePlace: CookieChange] = [:]
        var wake: AsyncStream<Void>.Continuation?
        var isFinished = false
    }

    /// The maximum number of places to remember. Above it, all are forgotten, so that only the comparison of the stores remains.
    package static let capacity = 10_000

    /// The source whose changes are ignored, except for evictions.
    private let own: ChangeSource
    /// Guards the collected changes.
    private let state = NIOLockedValueBox(State())

    /// Starts to collect the changes of a jar.
    ///
    /// - Parameter own: The source whose changes are ignored, except for evictions.
    package init(of jar: CookieJar, except own: ChangeSource) {
        self.own = own
        jar.follow(self)
    }

    package var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    /// A stream with an element after one or more changes. Finishes with the jar. Only the stream of the latest call receives
    /// elements.
    package func arrivals() -> AsyncStream<Void> {
        let (stream, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLockedValue { state in
            if !state.changes.isEmpty { wake.yield() }
            if state.isFinished { wake.finish() }
            state.wake = wake
        }
        return stream
    }

    package func note(_ changes: [CookieChange]) {
        let wake = state.withLockedValue { state in
            var isNews = false
            // A cookie from the own source may evict others. The other store still has those and must keep them.
            for change in changes where change.source != own || change.kind == .removed(.evicted) {
                if state.changes.count >= Self.capacity { state.changes = [:] }
                state.changes[CookiePlace(change.cookie)] = change
                isNews = true
            }
            return isNews ? state.wake : nil
        }
        wake?.yield()
    }

    package func finish() {
        let wake = state.withLockedValue { state in
            state.isFinished = true
            return state.wake
        }
        wake?.finish()
    }

    /// Returns the collected changes and forgets them.
    func take() -> [CookieChange] {
        state.withLockedValue { state in
            defer { state.changes = [:] }
            return Array(state.changes.values)
        }
    }
}
