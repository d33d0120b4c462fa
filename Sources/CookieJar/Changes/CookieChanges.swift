// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// The changes of a jar from one moment on, in their order.
///
/// A reader has as long as it likes: a writer never waits for it. What does not fit into its buffer is lost, and the reader
/// is told how much that was; it then takes a new look at the whole jar. The sequence ends when the jar does. It has one
/// reader.
///
/// ```swift
/// for await event in jar.changes {
///     switch event {
///     case .change(let change): follow(change)
///     case .missed: startAgain(from: jar.allCookies())
///     }
/// }
/// ```
public struct CookieChanges: AsyncSequence, Sendable {
    /// What a follower is told.
    public enum Event: Hashable, Sendable {
        /// A change.
        case change(CookieChange)
        /// So many changes were lost, because the reader was too slow.
        case missed(Int)
    }

    /// Reads the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription

        /// The next event; nil when the jar or the task that reads has ended.
        public mutating func next() async -> Event? {
            await subscription.feed.next()
        }
    }

    private let subscription: Subscription

    init(_ feed: CookieChangeFeed) {
        subscription = Subscription(feed)
    }

    /// Begins reading.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subscription: subscription)
    }

    /// Ends the feed when nobody can read it any more.
    fileprivate final class Subscription: Sendable {
        let feed: CookieChangeFeed

        init(_ feed: CookieChangeFeed) { self.feed = feed }

        deinit { feed.finish() }
    }
}

/// The buffer between a jar and one reader of its changes.
final class CookieChangeFeed: CookieFollower {
    private struct State {
        var events: [CookieChanges.Event] = []
        var missed = 0
        var isFinished = false
        var reader: CheckedContinuation<CookieChanges.Event?, Never>?

        /// The next event, if there is one.
        mutating func take() -> CookieChanges.Event? {
            if !events.isEmpty { return events.removeFirst() }
            guard missed > 0 else { return nil }
            defer { missed = 0 }
            return .missed(missed)
        }
    }

    private let state = NIOLockedValueBox(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    /// Adds changes, and wakes the reader.
    func note(_ changes: [CookieChange]) {
        let woken = state.withLockedValue {
            state -> (CheckedContinuation<CookieChanges.Event?, Never>, CookieChanges.Event)? in
            guard !state.isFinished else { return nil }
            for change in changes {
                // Once one is lost, so are all until the reader knows.
                if state.missed > 0 || state.events.count >= capacity {
                    state.missed += 1
                } else {
                    state.events.append(.change(change))
                }
            }
            guard let reader = state.reader, let event = state.take() else { return nil }
            state.reader = nil
            return (reader, event)
        }
        woken?.0.resume(returning: woken?.1)
    }

    /// Ends the sequence for the reader, after what is in the buffer.
    func finish() {
        let reader = state.withLockedValue { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    /// The next event; nil at the end.
    func next() async -> CookieChanges.Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLockedValue { state -> CookieChanges.Event?? in
                    if let event = state.take() { return .some(event) }
                    if state.isFinished || Task.isCancelled || state.reader != nil { return .some(nil) }
                    state.reader = continuation
                    return .none
                }
                if let event = isReady { continuation.resume(returning: event) }
            }
        } onCancel: {
            let reader = state.withLockedValue { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: nil)
        }
    }
}

/// Following a jar.
extension CookieJar {
    /// What happens to the jar's cookies from now on; each call gives a sequence of its own.
    ///
    /// The buffer holds `CookieJarConfiguration.changeBufferCapacity` changes.
    public var changes: CookieChanges { follow(now: nil).changes }

    /// The cookies that are in the jar, and what happens to them from then on: between the two nothing is lost.
    public func follow(now: CookieTime? = nil) -> (cookies: [Cookie], changes: CookieChanges) {
        let now = now ?? clock()
        return state.withLockedValue { store in
            let feed = CookieChangeFeed(capacity: store.configuration.changeBufferCapacity)
            store.add(feed)
            return (store.cookies(at: now), CookieChanges(feed))
        }
    }
}
