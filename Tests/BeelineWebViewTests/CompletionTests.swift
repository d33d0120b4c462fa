// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import Testing

@Suite("Cookie stores with completion handlers")
struct CompletionTests {
    @Test(
        "a call whose handler is never called fails after the time limit",
        arguments: [StandInStore.Call.getAll, .set]
    )
    func never(_ call: StandInStore.Call) async throws {
        var habits = StandInStore.Habits()
        habits.silent = [call]
        let clock = ManualClock()
        let store = CompletionCookieStore(StandInStore(habits), patience: .seconds(5), clock: clock)
        let task = Task {
            if call == .getAll {
                _ = try await store.cookies()
            } else {
                try await store.set(Cookie("a", "1", domain: "a.test"))
            }
        }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: WebViewError.self) { try await task.value }
        #expect(error?.code == .timedOut)
    }

    @Test("a cancelled call ends even if its handler is never called")
    func cancelled() async throws {
        var habits = StandInStore.Habits()
        habits.silent = [.getAll]
        let standIn = StandInStore(habits)
        let task = Task { try await standIn.store.cookies() }
        try await eventually("the call") { !standIn.calls.isEmpty }
        task.cancel()
        let error = await #expect(throws: WebViewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test("a deletion uses the store's own object, and deleting a missing cookie is not an error")
    func deletes() async throws {
        let standIn = StandInStore()
        try await standIn.store.delete(Cookie("a", "1", domain: "a.test"))
        #expect(standIn.writes.isEmpty)
        standIn.pageSets("a", "1")
        // The same domain, path and name; everything else differs.
        try await standIn.store.delete(Cookie("a", "another", domain: "a.test"))
        #expect(standIn.pairs.isEmpty)
    }

    @Test("an observer lives while its changes are read, although the store holds it weakly")
    func observer() async throws {
        let standIn = StandInStore()
        let gate = Gate()
        let changes = standIn.store.changes
        #expect(standIn.observerCount == 1)
        let reader = Task { for await _ in changes { gate.open() } }
        standIn.pageSets("a", "1")
        try await withTimeLimit(.seconds(10), for: { "the change" }) { try await gate.wait() }
        reader.cancel()
        await reader.value
        #expect(standIn.observerCount == 0)
    }

    @Test("a cookie that the platform cannot hold is refused with its name")
    func refused() async throws {
        var habits = StandInStore.Habits()
        habits.claims = { _ in nil }
        let error = await #expect(throws: WebViewError.self) {
            try await StandInStore(habits).store.set(Cookie("a", "1", domain: "a.test"))
        }
        #expect(error?.code == .refused)
        #expect(error?.message == "this store cannot hold the cookie a of a.test")
    }
}
