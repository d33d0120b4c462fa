// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// A queue of channel reads for one consumer.
final class Inbox<Element: Sendable>: Sendable {
    private struct State {
        var queue = CircularBuffer<Element>()
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Element?, any Error>?
        /// Whether reading stopped because the inbox was full.
        var isStopped = false
    }

    private let state = NIOLockedValueBox(State())
    /// The number of queued elements at which the channel stops reading.
    private let capacity: Int

    init(capacity: Int = 16) {
        self.capacity = capacity
    }

    /// Whether the channel may read. If false, ``startsAgain()`` later tells when reading resumes.
    func admits() -> Bool {
        state.withLockedValue { state in
            state.isStopped = state.queue.count >= capacity
            return !state.isStopped
        }
    }

    /// Whether a stopped channel must read again because there is room. Call it after each ``next()``. It uses the same lock as
    /// ``admits()``, so a stop and a restart cannot miss each other.
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

    /// Ends the inbox; only the first call counts. Queued elements are delivered before the end.
    func finish(_ error: (any Error)? = nil) {
        let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
        let waiter = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: end.map { nil })
    }

    /// The next element, or nil at the end. Only one task may wait at a time.
    func next() async throws -> Element? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready: Result<Element?, any Error>? = state.withLockedValue { state in
                    if let element = state.queue.popFirst() { return .success(element) }
                    if let end = state.end { return end.map { nil } }
                    // Cancellation may have arrived before the waiter was registered; check again.
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

/// Fills an ``Inbox`` and stops reading from the socket while the inbox is full.
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
        // The consumer triggers the next read when there is room.
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
