// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import DirectHTTP

/// A caller on an actor stays on it while its result is available without waiting.
@Suite struct CallerActorTests {
    /// Runs an actor's jobs on a thread of its own, which is no event loop, and counts them. Each time the actor is
    /// left adds one job.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    final class CountingExecutor: SerialExecutor {
        private let thread = NIOThreadPool(numberOfThreads: 1)
        private let jobs = NIOLockedValueBox(0)

        init() { thread.start() }

        func end() async throws { try await thread.shutdownGracefully() }

        var count: Int { jobs.withLockedValue { $0 } }

        func enqueue(_ job: consuming ExecutorJob) {
            jobs.withLockedValue { $0 += 1 }
            let job = UnownedJob(job)
            thread.submit { _ in job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    actor Caller {
        let executor = CountingExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func waitForWhatIsThere() async -> (answer: Int, jobs: Int) {
            let before = executor.count
            let answer = await waitCancellably({ $0.resume(returning: 42) }, onCancel: {})
            return (answer, executor.count - before)
        }

        func readWhatIsThere() async throws -> (bytes: Int, jobs: Int) {
            let before = executor.count
            var bytes = 0
            for try await piece in ResponseBody.bytes(ByteBuffer(string: "there")) { bytes += piece.readableBytes }
            return (bytes, executor.count - before)
        }

        func get(from lab: Lab) async throws -> (isReused: Bool, jobs: Int) {
            let before = executor.count
            let response = try await lab.get()
            let jobs = executor.count - before
            await response.body.discard()
            return (response.isReused, jobs)
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func aWaitThatIsOverAtOnceLeavesTheActorNever() async throws {
        let caller = Caller()
        #expect(await caller.waitForWhatIsThere() == (42, 0))
        try await caller.executor.end()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func aPieceThatIsThereIsTakenWithoutLeavingTheActor() async throws {
        let caller = Caller()
        #expect(try await caller.readWhatIsThere() == (5, 0))
        try await caller.executor.end()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [["http/1.1"], ["h2", "http/1.1"]])
    func anExchangeLeavesTheActorOnceOnANewConnectionToo(protocols: [String]) async throws {
        let lab = try await Lab(protocols: protocols) { _ in .text("here") }
        let caller = Caller()
        for isReused in [false, true, true] {
            let (wasReused, jobs) = try await caller.get(from: lab)
            #expect(wasReused == isReused)
            #expect(jobs <= 1)
        }
        try await caller.executor.end()
        await lab.stop()
    }
}
