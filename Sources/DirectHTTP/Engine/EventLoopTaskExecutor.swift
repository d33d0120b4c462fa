// SPDX-License-Identifier: Apache-2.0

public import NIOCore
import NIOPosix

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

    /// Runs a job in the loop's next turn, or at the end of this one where it comes from a job that the loop runs.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Other loops than these have no thread of their own.
        guard MultiThreadedEventLoopGroup.currentEventLoop === loop else { return loop.execute { [self] in run(job) } }
        LoopJobs.ofThisThread.append(job, self, on: loop)
    }

    fileprivate func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// The jobs of tasks that wait for their turn on the event loop of this thread, whichever executor they came by.
///
/// Tasks on one loop resume each other all the time. Each by a turn of the loop costs more than what most of them do: so they
/// share one.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class LoopJobs {
    // Each thread sees its own value alone.
    nonisolated(unsafe) private static let all = ThreadSpecificVariable<LoopJobs>()
    /// How many are run before the loop's other work has its turn.
    private static let atOnce = 256

    private var jobs: [(job: UnownedJob, executor: EventLoopTaskExecutor)] = []
    private var isRunning = false
    /// What is done when these jobs were run.
    private var afterwards: [() -> Void] = []

    /// The jobs of the thread that asks.
    static var ofThisThread: LoopJobs {
        if let jobs = all.currentValue { return jobs }
        let jobs = LoopJobs()
        all.currentValue = jobs
        return jobs
    }

    func append(_ job: UnownedJob, _ executor: EventLoopTaskExecutor, on loop: any EventLoop) {
        jobs.append((job, executor))
        if jobs.count == 1 { plan(on: loop) }
    }

    /// Does `work` when the jobs that are being run now have been run; false where none are.
    static func hasTaken(_ work: @escaping () -> Void) -> Bool {
        guard let jobs = all.currentValue, jobs.isRunning else { return false }
        jobs.afterwards.append(work)
        return true
    }

    private func plan(on loop: any EventLoop) { loop.assumeIsolated().execute { self.run(on: loop) } }

    /// Runs what is there, and what comes meanwhile. A job stays in the list until it was run: so none of them plans another turn.
    private func run(on loop: any EventLoop) {
        isRunning = true
        var next = 0
        while next < min(jobs.count, Self.atOnce) {
            let (job, executor) = jobs[next]
            next += 1
            executor.run(job)
        }
        isRunning = false
        while let work = afterwards.popLast() { work() }
        jobs.removeSubrange(..<next)
        if !jobs.isEmpty { plan(on: loop) }
    }
}

extension EventLoop {
    /// Does `work`, on the loop, when the tasks that the loop runs now have all had their turn: at the end of their jobs where it
    /// is one of them that asks, which costs no turn of the loop, else in the loop's next turn.
    func executeAfterJobs(_ work: @escaping () -> Void) {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), LoopJobs.hasTaken(work) { return }
        assumeIsolated().execute(work)
    }
}
