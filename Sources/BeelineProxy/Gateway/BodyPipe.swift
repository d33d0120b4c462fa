// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// A body passed from a socket to one task, piece by piece. A second task that reads at the same time gets ``Broken``.
final class BodyPipe: AsyncSequence, Sendable {
    /// The sender ended before the body was complete, or another task is reading.
    struct Broken: Error {}

    private struct State {
        /// The waiting bytes, copied into one buffer: a slice of one byte would keep its whole read buffer alive.
        var waiting = ByteBuffer()
        var isEnded = false
        var isBroken = false
        var waiter: CheckedContinuation<ByteBuffer?, any Error>?
    }

    /// The number of waiting bytes at which the sender should pause.
    private static let highMark = 256 * 1024

    /// Guards the waiting bytes and the waiting task.
    private let state = NIOLockedValueBox(State())
    private let onRoom: @Sendable () -> Void

    /// - Parameter onRoom: called when a full pipe has room again.
    init(onRoom: @escaping @Sendable () -> Void) { self.onRoom = onRoom }

    /// Adds a piece. Returns whether there is room for more.
    func add(_ piece: ByteBuffer) -> Bool {
        let (waiter, hasRoom) = state.withLockedValue { state -> (CheckedContinuation<ByteBuffer?, any Error>?, Bool) in
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, true)
            }
            state.waiting.writeImmutableBuffer(piece)
            return (nil, state.waiting.readableBytes < Self.highMark)
        }
        waiter?.resume(returning: piece)
        return hasRoom
    }

    /// Ends the body, complete or not.
    func end(isWhole: Bool) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<ByteBuffer?, any Error>? in
            state.isEnded = true
            state.isBroken = state.isBroken || !isWhole
            defer { state.waiter = nil }
            return state.waiter
        }
        if isWhole { waiter?.resume(returning: nil) } else { waiter?.resume(throwing: Broken()) }
    }

    private func next() async throws -> ByteBuffer? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                var hadNoRoom = false
                let now: Result<ByteBuffer?, any Error>? = state.withLockedValue { state in
                    if state.isBroken || state.waiter != nil { return .failure(Broken()) }
                    if state.waiting.readableBytes > 0 {
                        hadNoRoom = state.waiting.readableBytes >= Self.highMark
                        defer { state.waiting = ByteBuffer() }
                        return .success(state.waiting)
                    }
                    if state.isEnded { return .success(nil) }
                    state.waiter = continuation
                    return nil
                }
                if hadNoRoom { onRoom() }
                if let now { continuation.resume(with: now) }
            }
        } onCancel: {
            end(isWhole: false)
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let pipe: BodyPipe

        mutating func next() async throws -> ByteBuffer? { try await pipe.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: self) }
}
