// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOConcurrencyHelpers

/// Where the event loop leaves messages and tasks take them. Bounded by the socket not being read while it is full.
final class WebSocketInbox: Sendable {
    typealias Taken = Result<WebSocketMessage?, DirectHTTPError>

    private struct State {
        var messages = Deque<WebSocketMessage>()
        var bytes = 0
        var waiters = Deque<OneShot<WebSocketMessage?>>()
        var end: Result<Void, DirectHTTPError>?
        /// Whether `put` has returned false and `drained` was not called since.
        var isFull = false
    }

    private let bound: Int
    /// Called when a full inbox has room again, on the task that made it.
    private let drained: @Sendable () -> Void
    /// Guards the messages and who waits for them.
    private let state = NIOLockedValueBox(State())

    init(bound: Int, drained: @escaping @Sendable () -> Void) {
        self.bound = max(0, bound)
        self.drained = drained
    }

    /// Takes a message. Returns whether the socket should be read on.
    func put(_ message: WebSocketMessage) -> Bool {
        while true {
            let (waiter, goesOn) = state.withLockedValue { state -> (OneShot<WebSocketMessage?>?, Bool) in
                guard state.end == nil else { return (nil, true) }
                if let waiter = state.waiters.popFirst() { return (waiter, true) }
                state.messages.append(message.compacted())
                // A message of nothing costs something too.
                state.bytes += message.count + 16
                // Only `next` ends it: the caller has stopped reading, and waits for `drained`.
                if state.bytes >= bound { state.isFull = true }
                return (nil, !state.isFull)
            }
            // A waiter that was cancelled meanwhile leaves the message to the next one.
            guard let waiter, !waiter.resolve(.success(message)) else { return goesOn }
        }
    }

    /// No message comes any more. What is here can still be taken.
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

/// Something that is known once, and one task that waits for it.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case open
        case waiting(UnsafeContinuation<Result<Value, DirectHTTPError>, Never>)
        case known(Result<Value, DirectHTTPError>)
        case over
    }

    /// Guards the hand-over.
    private let state = NIOLockedValueBox(State.open)

    /// Returns false where it was known already.
    @discardableResult
    func resolve(_ result: Result<Value, DirectHTTPError>) -> Bool {
        let (isFirst, waiter) = state.withLockedValue {
            state -> (Bool, UnsafeContinuation<Result<Value, DirectHTTPError>, Never>?) in
            switch state {
            case .open:
                state = .known(result)
                return (true, nil)
            case .waiting(let waiter):
                state = .over
                return (true, waiter)
            case .known, .over:
                return (false, nil)
            }
        }
        waiter?.resume(returning: result)
        return isFirst
    }

    /// Waits for it. A task that is cancelled stops waiting.
    func value(orCancelled why: String) async throws(DirectHTTPError) -> Value {
        let result = await waitCancellably { (waiter: UnsafeContinuation<Result<Value, DirectHTTPError>, Never>) in
            let known = state.withLockedValue { state -> Result<Value, DirectHTTPError>? in
                if case .known(let result) = state {
                    state = .over
                    return result
                }
                state = .waiting(waiter)
                return nil
            }
            if let known { waiter.resume(returning: known) }
        } onCancel: {
            resolve(.failure(DirectHTTPError(.cancelled, why)))
        }
        #if BEELINE_TSAN
        // The thread sanitizer does not see that this follows on the call that resumed it; the lock shows it.
        state.withLockedValue { _ in }
        #endif
        return try result.get()
    }
}
