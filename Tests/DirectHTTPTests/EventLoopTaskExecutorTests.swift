// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@Suite("Tasks on an event loop")
struct EventLoopTaskExecutorTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    @Test("tasks run on their event loop, in the order in which they were resumed")
    func order() async {
        let executor = EventLoopTaskExecutor(loop)
        let other = EventLoopTaskExecutor(loop)
        let seen = NIOLockedValueBox<[Int]>([])
        let loop = loop
        await withTaskExecutorPreference(executor) {
            let tasks = (0..<1_000).map { number in
                Task(executorPreference: number % 2 == 0 ? executor : other) {
                    #expect(loop.inEventLoop)
                    seen.withLockedValue { $0.append(number) }
                }
            }
            for task in tasks { await task.value }
        }
        #expect(seen.withLockedValue { $0 } == Array(0..<1_000))
    }

    @Test("a task that never waits leaves time for other work of the loop", .timeLimit(.minutes(1)))
    func fairness() async throws {
        let isOver = NIOLockedValueBox(false)
        let spinner = Task(executorPreference: EventLoopTaskExecutor(loop)) {
            while !isOver.withLockedValue({ $0 }), !Task.isCancelled { await Task.yield() }
        }
        try await loop.submit { isOver.withLockedValue { $0 = true } }.get()
        await spinner.value
    }

    @Test("a loop without a thread runs its tasks in its own turns", .timeLimit(.minutes(1)))
    func testingLoop() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let task = Task(executorPreference: EventLoopTaskExecutor(loop)) {
            await Task.yield()
            return loop.inEventLoop
        }
        let driver = Task { while !Task.isCancelled { await loop.run() } }
        #expect(await task.value)
        driver.cancel()
        await driver.value
        await loop.shutdownGracefully()
    }
}
