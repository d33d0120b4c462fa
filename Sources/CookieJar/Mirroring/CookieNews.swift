// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// What happened in a jar since somebody last looked: the last change in each place, for who compares two stores and
/// has to know when and why a cookie changed.
package final class CookieNews: CookieFollower {
    private struct State {
        var changes: [CookiePlace: CookieChange] = [:]
        var bell: AsyncStream<Void>.Continuation?
        var isFinished = false
    }

    /// How many places are remembered; beyond that all are forgotten, and only the comparison is left.
    package static let capacity = 10_000

    /// Whose changes are no news.
    private let own: ChangeSource
    /// Guards what happened.
    private let state = NIOLockedValueBox(State())

    /// News of a jar from now on.
    ///
    /// - Parameter own: Whose changes are no news.
    package init(of jar: CookieJar, except own: ChangeSource) {
        self.own = own
        jar.follow(self)
    }

    package var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    /// One element whenever something happened, from now on; several changes may be one. It ends with the jar. There is
    /// one reader: whoever asks last.
    package func arrivals() -> AsyncStream<Void> {
        let (stream, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        state.withLockedValue { state in
            if !state.changes.isEmpty { bell.yield() }
            if state.isFinished { bell.finish() }
            state.bell = bell
        }
        return stream
    }

    package func note(_ changes: [CookieChange]) {
        let bell = state.withLockedValue { state in
            var isNews = false
            for change in changes where change.source != own {
                if state.changes.count >= Self.capacity { state.changes = [:] }
                state.changes[CookiePlace(change.cookie)] = change
                isNews = true
            }
            return isNews ? state.bell : nil
        }
        bell?.yield()
    }

    package func finish() {
        let bell = state.withLockedValue { state in
            state.isFinished = true
            return state.bell
        }
        bell?.finish()
    }

    /// Takes what happened.
    func take() -> [CookieChange] {
        state.withLockedValue { state in
            defer { state.changes = [:] }
            return Array(state.changes.values)
        }
    }
}
