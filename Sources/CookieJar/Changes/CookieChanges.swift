// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// The changes of a jar from a point in time on, in order.
///
/// A slow reader does not block writers. Changes that do not fit into its buffer are lost. The reader then receives the number of
/// lost changes and must read the whole jar again. The sequence ends when the jar is deinitialized. It supports one reader.
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
    /// An element of the sequence.
    public enum Event: Hashable, Sendable {
        /// A change.
        case change(CookieChange)
        /// The number of changes that were lost because the reader was too slow.
        case missed(Int)
    }

    /// Reads the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription

        /// The next event. Nil when the jar is gone or the reading task is cancelled.
        public mutating func next() async -> Event? {
            await subscription.feed.next()
        }
    }

    private let subscription: Subscription

    init(_ feed: CookieChangeFeed) {
        subscription = Subscription(feed)
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subscription: subscription)
    }

    /// Ends the feed when the sequence and its iterator are deinitialized.
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

        /// Removes and returns the next event, if there is one.
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

    /// Adds changes and wakes the reader.
    func note(_ changes: [CookieChange]) {
        let woken = state.withLockedValue {
            state -> (CheckedContinuation<CookieChanges.Event?, Never>, CookieChanges.Event)? in
            guard !state.isFinished else { return nil }
            for change in changes {
                // After a lost change, all changes are lost until the reader is informed.
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

    /// Ends the sequence after the buffered events.
    func finish() {
        let reader = state.withLockedValue { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    /// The next event. Nil at the end.
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

extension CookieJar {
    /// The changes of the jar from now on. Each access returns a new sequence.
    ///
    /// The buffer holds 1,024 changes. Changes beyond that are reported as `missed`.
    public var changes: CookieChanges { follow(now: nil).changes }

    /// The cookies of the jar and all later changes. No change is lost in between.
    public func follow(now: CookieTime? = nil) -> (cookies: [Cookie], changes: CookieChanges) {
        let now = now ?? clock()
        return state.withLockedValue { store in
            let feed = CookieChangeFeed(capacity: store.configuration.changeBufferCapacity)
            store.add(feed)
            return (store.cookies(at: now), CookieChanges(feed))
        }
    }
}
