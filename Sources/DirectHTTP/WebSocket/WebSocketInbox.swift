// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOConcurrencyHelpers

/// A queue of messages from the event loop to the reading tasks. While it is full, the socket is not read.
final class WebSocketInbox: Sendable {
    typealias Taken = Result<WebSocketMessage?, DirectHTTPError>

    private struct State {
        var messages = Deque<WebSocketMessage>()
        var bytes = 0
        var waiters = Deque<OneShot<WebSocketMessage?>>()
        var end: Result<Void, DirectHTTPError>?
        var closure: WebSocketClosure?
        /// Whether `put` has returned false and `drained` has not been called since.
        var isFull = false
    }

    private let bound: Int
    /// Called when a full inbox has room again, on the reading task.
    private let drained: @Sendable () -> Void
    /// Guards the messages and the waiting tasks.
    private let state = NIOLockedValueBox(State())

    init(bound: Int, drained: @escaping @Sendable () -> Void) {
        self.bound = max(0, bound)
        self.drained = drained
    }

    /// The peer's close frame; nil until it arrives.
    var closure: WebSocketClosure? {
        get { state.withLockedValue(\.closure) }
        set { state.withLockedValue { $0.closure = newValue } }
    }

    /// Whether the socket is not read until a message is taken. For tests.
    var isFull: Bool { state.withLockedValue(\.isFull) }

    /// Whether a task waits for a message. For tests.
    var isAwaited: Bool { state.withLockedValue { $0.waiters.contains(where: \.isAwaited) } }

    /// Adds a message. Returns whether to continue reading the socket.
    func put(_ message: WebSocketMessage) -> Bool {
        while true {
            let (waiter, goesOn) = state.withLockedValue { state -> (OneShot<WebSocketMessage?>?, Bool) in
                guard state.end == nil else { return (nil, true) }
                if let waiter = state.waiters.popFirst() { return (waiter, true) }
                state.messages.append(message.compacted())
                // Count a fixed cost per message, so that empty messages are bounded too.
                state.bytes += message.count + 16
                // Only `next` clears it: the handler has stopped reading and waits for `drained`.
                if state.bytes >= bound { state.isFull = true }
                return (nil, !state.isFull)
            }
            // If the waiter was cancelled meanwhile, offer the message to the next one.
            guard let waiter, !waiter.resolve(.success(message)) else { return goesOn }
        }
    }

    /// Ends the messages. Queued messages can still be taken.
    func finish(_ end: Result<Void, DirectHTTPError>) {
        let waiters = state.withLockedValue { state -> Deque<OneShot<WebSocketMessage?>> in
            guard state.end == nil else { return [] }
            state.end = end
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resolve(end.map { nil }) }
    }

    /// The next message; nil at the end.
    func next() async throws(DirectHTTPError) -> WebSocketMessage? {
        let waiter = OneShot<WebSocketMessage?>()
        let (ready, hasRoom) = state.withLockedValue { state -> (Taken?, Bool) in
            if let message = state.messages.popFirst() {
                state.bytes -= message.count + 16
                guard state.isFull, state.bytes <= bound / 2 else { return (.success(message), false) }
                state.isFull = false
                return (.success(message), true)
            }
            if let end = state.end { return (end.map { nil }, false) }
            state.waiters.append(waiter)
            return (nil, false)
        }
        if hasRoom { drained() }
        if let ready { return try ready.get() }
        do {
            return try await waiter.value(orCancelled: "waiting for a message was cancelled")
        } catch {
            state.withLockedValue { $0.waiters.removeAll { $0 === waiter } }
            throw error
        }
    }
}
