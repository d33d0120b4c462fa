// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// The changes that a jar reports to its followers.
struct ChangeTests {
    private func names(_ events: [CookieChanges.Event]) -> [String] {
        events.map { event in
            switch event {
            case .missed(let count): "missed \(count)"
            case .change(let change): "\(change.kind) \(change.cookie.name)=\(change.cookie.value)"
            }
        }
    }

    @Test func tellsWhatHappensInOrder() async throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookiesPerDomain = 2
        let jar: CookieJar? = CookieJar(configuration: configuration)
        try jar?.set("before=1", from: "https://other.org/")
        let events = try #require(jar?.changes)
        try jar?.set("a=1", from: "https://example.com/", at: 0)
        try jar?.set("a=2", from: "https://example.com/", at: 1)
        try jar?.set("b=1; Max-Age=5", from: "https://example.com/", at: 2)
        try jar?.set("c=1", from: "https://example.com/", at: 10)
        try jar?.set("d=1", from: "https://example.com/", at: 11)
        try jar?.set("d=; Max-Age=0", from: "https://example.com/", at: 12)
        try jar?.set("e=; Max-Age=0", from: "https://example.com/", at: 12)
        jar?.remove { $0.name == "c" }
        var iterator = events.makeAsyncIterator()
        var seen: [CookieChanges.Event] = []
        for _ in 0..<9 { if let event = await iterator.next() { seen.append(event) } }
        #expect(
            names(seen) == [
                "added a=1", "replaced a=2", "added b=1", "added c=1",
                "removed(CookieJar.CookieChange.Cause.expired) b=1",
                "added d=1", "removed(CookieJar.CookieChange.Cause.evicted) a=2",
                "removed(CookieJar.CookieChange.Cause.overwritten) d=1",
                "removed(CookieJar.CookieChange.Cause.explicit) c=1",
            ]
        )
    }

    @Test func aSlowReaderLearnsWhatItMissedAndHoldsNobodyUp() async throws {
        var configuration = CookieJarConfiguration()
        configuration.changeBufferCapacity = 3
        let jar = CookieJar(configuration: configuration)
        var iterator = jar.changes.makeAsyncIterator()
        for index in 0..<10 { try jar.set("a\(index)=1", from: "https://example.com/") }
        var seen: [CookieChanges.Event] = []
        for _ in 0..<4 { if let event = await iterator.next() { seen.append(event) } }
        try jar.set("b=1", from: "https://example.com/")
        if let event = await iterator.next() { seen.append(event) }
        #expect(names(seen) == ["added a0=1", "added a1=1", "added a2=1", "missed 7", "added b=1"])
    }

    @Test func endsWithTheJarAndWithTheTask() async throws {
        var jar: CookieJar? = CookieJar()
        let changes = try #require(jar?.changes)
        try jar?.set("a=1", from: "https://example.com/")
        jar = nil
        var count = 0
        for await _ in changes { count += 1 }
        #expect(count == 1)

        let other = CookieJar()
        let reader = Task {
            for await _ in other.changes {}
            return true
        }
        reader.cancel()
        #expect(await reader.value)
    }

    @Test func followersKnowTheirOwnChanges() async throws {
        let jar = CookieJar()
        let (cookies, changes) = jar.follow(now: noon)
        #expect(cookies.isEmpty)
        let own = ChangeSource()
        jar.insert(Cookie("a", "1", domain: "example.com"), source: own, now: noon)
        try jar.set("b=1", from: "https://example.com/")
        var iterator = changes.makeAsyncIterator()
        for expected in [own, nil] {
            guard case .change(let change) = await iterator.next() else {
                Issue.record("no change")
                return
            }
            #expect(change.source == expected)
        }
        #expect(ChangeSource() != own)
    }

    @Test func aLookUpIsNoChange() async throws {
        let jar = CookieJar()
        try jar.set("a=1", from: "https://example.com/")
        var iterator = jar.changes.makeAsyncIterator()
        _ = try jar.get("https://example.com/", at: 100)
        try jar.set("b=1", from: "https://example.com/", at: 101)
        let event = try #require(await iterator.next())
        #expect(names([event]) == ["added b=1"])
    }
}
