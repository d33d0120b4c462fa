// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// Runs tasks on an event loop, so that callers which live there pay no hop for an exchange.
///
/// ```swift
/// let executor = EventLoopTaskExecutor(group.next())
/// await withTaskExecutorPreference(executor) {
///     let response = try await engine.exchange(request, from: endpoints)
/// }
/// ```
///
/// A caller on a loop of the engine's group is given a connection on that loop where there is one, and dials there. Such a
/// task must not block: whatever else the loop carries waits for it.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class EventLoopTaskExecutor: TaskExecutor {
    private let loop: any EventLoop

    /// An executor on `loop`.
    public init(_ loop: any EventLoop) { self.loop = loop }

    /// Runs a job in the loop's next turn.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
