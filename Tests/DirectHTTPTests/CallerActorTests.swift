// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import DirectHTTP

/// A caller on an actor is not sent elsewhere and back for what it can have where it is.
@Suite struct CallerActorTests {
    /// Runs an actor's jobs on a thread of its own, and counts them: there is one more for each time that the actor was left.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    final class CountingExecutor: SerialExecutor {
        private let loop: any EventLoop
        private let jobs = NIOLockedValueBox(0)

        init(_ loop: any EventLoop) { self.loop = loop }

        var count: Int { jobs.withLockedValue { $0 } }

        func enqueue(_ job: consuming ExecutorJob) {
            jobs.withLockedValue { $0 += 1 }
            let job = UnownedJob(job)
            loop.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    actor Caller {
        let executor: CountingExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init(_ executor: CountingExecutor) { self.executor = executor }

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
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func aWaitThatIsOverAtOnceLeavesTheActorNever() async {
        let caller = Caller(CountingExecutor(MultiThreadedEventLoopGroup.singleton.next()))
        #expect(await caller.waitForWhatIsThere() == (42, 0))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func aPieceThatIsThereIsTakenWithoutLeavingTheActor() async throws {
        let caller = Caller(CountingExecutor(MultiThreadedEventLoopGroup.singleton.next()))
        #expect(try await caller.readWhatIsThere() == (5, 0))
    }
}
