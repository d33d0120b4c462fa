// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// What a channel has read and its one consumer has not yet taken.
final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var queue = CircularBuffer<Element>()
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Element?, any Error>?
        /// Whether the socket was left unread because the inbox was full.
        var isStopped = false
    }

    private let state = NIOLockedValueBox(State())
    /// From how many waiting elements on the channel is to read no more.
    private let capacity: Int

    init(capacity: Int = 16) {
        self.capacity = capacity
    }

    /// Whether the socket may be read; where it may not, ``startsAgain()`` says when it may.
    func admits() -> Bool {
        state.withLockedValue { state in
            state.isStopped = state.queue.count >= capacity
            return !state.isStopped
        }
    }

    /// Whether the socket was left unread and is to be read now, for there is room. Asked after each ``next()``: the answer
    /// is taken under the same lock as the stop, so neither can miss the other.
    func startsAgain() -> Bool {
        state.withLockedValue { state in
            guard state.isStopped, state.queue.count < capacity else { return false }
            state.isStopped = false
            return true
        }
    }

    func push(_ element: Element) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<Element?, any Error>? in
            guard state.end == nil else { return nil }
            guard let waiter = state.waiter else {
                state.queue.append(element)
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: element)
    }

    /// Ends the inbox; the first end counts. What is queued is still handed out before it.
    func finish(_ error: (any Error)? = nil) {
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        let waiter = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: end.map { nil })
    }

    /// The next element, or nil at the end. At most one task may wait.
    func next() async throws -> Element? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Element?, any Error>? = state.withLockedValue { state in
                    if let element = state.queue.popFirst() { return .success(element) }
                    if let end = state.end { return end.map { nil } }
                    // A cancellation that came before this point found no waiter to end.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.waiter == nil else {
                        return .failure(TestingError(.badInput, "two tasks read one connection"))
                    }
                    state.waiter = continuation
                    return nil
                }
                if let ready { continuation.resume(with: ready) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}

/// Fills an ``Inbox`` and stops reading from the socket while it is full.
final class InboxHandler<Element: Sendable>: ChannelDuplexHandler {
    typealias InboundIn = Element
    typealias OutboundIn = Any
    typealias OutboundOut = Any

    private let inbox: Inbox<Element>

    init(_ inbox: Inbox<Element>) {
        self.inbox = inbox
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.push(unwrapInboundIn(data))
    }

    func read(context: ChannelHandlerContext) {
        // The consumer reads again when it has made room.
        if inbox.admits() { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inbox.finish() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        inbox.finish(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.finish()
        context.fireChannelInactive()
    }
}
