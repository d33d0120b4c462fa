// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOPosix

/// Runs blocking work that cannot be stopped, on a few dedicated threads. A cancelled caller returns at once. Its work
/// is skipped if it has not started.
package final class BlockingWork: Sendable {
    private let pool: NIOThreadPool
    private let maxWaiting: Int
    private let count = NIOLockedValueBox(0)

    /// - Parameters:
    ///   - threads: The maximum number of concurrent work items.
    ///   - maxWaiting: The maximum number of work items that wait or run; more fail with `busy`.
    package convenience init(threads: Int, maxWaiting: Int) {
        self.init(NIOThreadPool(numberOfThreads: max(1, threads)), maxWaiting: maxWaiting)
    }

    init(_ pool: NIOThreadPool, maxWaiting: Int) {
        self.pool = pool
        self.maxWaiting = maxWaiting
    }

    deinit { pool.shutdownGracefully { _ in } }

    /// Starts the threads unless they run.
    func start() { pool.start() }

    /// The number of work items that wait or run.
    var waiting: Int { count.withLockedValue { $0 } }

    /// Runs work on one of the threads.
    ///
    /// - Throws: ``UpstreamError`` with code `cancelled` as soon as the task is cancelled, `busy` if too many work
    ///   items wait.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () -> Result<Value, UpstreamError>
    ) async throws(UpstreamError) -> Value {
        let ticket = Ticket<Value>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, UpstreamError>, Never>) in
                ticket.wait(continuation)
                submit(work, ticket: ticket)
            }
        } onCancel: {
            ticket.end(.failure(UpstreamError(.cancelled, "the lookup was cancelled")))
        }
        return try result.get()
    }

    private func submit<Value: Sendable>(
        _ work: @escaping @Sendable () -> Result<Value, UpstreamError>,
        ticket: Ticket<Value>
    ) {
        let isTaken = count.withLockedValue { count in
            guard count < maxWaiting else { return false }
            count += 1
            return true
        }
        guard isTaken else {
            return ticket.end(.failure(UpstreamError(.busy, "\(maxWaiting) lookups already wait for the system")))
        }
        // Work that is submitted before the threads run is returned as cancelled, on the caller's thread.
        start()
        pool.submit { [count] state in
            if !ticket.isOver { ticket.end(Self.outcome(of: work, in: state)) }
            count.withLockedValue { $0 -= 1 }
        }
    }

    /// Does the work. The pool calls this with a cancelled state, on the caller's thread, if it cannot run the work.
    static func outcome<Value>(
        of work: () -> Result<Value, UpstreamError>,
        in state: NIOThreadPool.WorkItemState
    ) -> Result<Value, UpstreamError> {
        guard state == .active else {
            return .failure(UpstreamError(.unreachable, "the threads for the system's resolver could not be started"))
        }
        return work()
    }

    /// Holds the outcome for one caller. The outcome comes from the thread or from cancellation, whichever is first.
    private final class Ticket<Value: Sendable>: Sendable {
        typealias Outcome = Result<Value, UpstreamError>

        private enum State {
            case new
            case waiting(CheckedContinuation<Outcome, Never>)
            case over(Outcome)
        }

        private let state = NIOLockedValueBox(State.new)

        var isOver: Bool {
            state.withLockedValue { if case .over = $0 { true } else { false } }
        }

        func wait(_ continuation: CheckedContinuation<Outcome, Never>) {
            let outcome = state.withLockedValue { state -> Outcome? in
                if case .over(let outcome) = state { return outcome }
                state = .waiting(continuation)
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }

        func end(_ outcome: Outcome) {
            let waiter = state.withLockedValue { state -> CheckedContinuation<Outcome, Never>? in
                defer { if case .over = state {} else { state = .over(outcome) } }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            waiter?.resume(returning: outcome)
        }
    }
}
