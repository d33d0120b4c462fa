// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import Testing

@Suite("The first result", .timeLimit(.minutes(1)))
struct FirstResultTests {
    /// Returns when its task is cancelled.
    private static let never = { @Sendable () async -> Void in
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        for await _ in stream {}
    }

    @Test("the work, the end of its time and the event end the call, and cancel the others")
    func ends() async {
        let never = Self.never
        let noEnd = { @Sendable (_: Duration) async -> Void in await never() }
        let slowly = { @Sendable () async -> Int? in
            await never()
            return 1
        }
        #expect(await firstResult(within: .zero, sleep: noEnd, until: never) { 1 } == 1)
        #expect(await firstResult(within: .zero, sleep: { _ in }, until: never, of: slowly) == nil)
        #expect(await firstResult(within: .zero, sleep: noEnd, until: {}, of: slowly) == nil)
        #expect(await firstResult(within: .zero, sleep: noEnd, until: never) { Int?.none } == nil)
    }
}
