// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import BeelineWebView
import CookieJar
import Names
import Testing

@Suite("Random changes on both sides")
struct FollowingPropertyTests {
    /// Habits of a store, in order of difficulty.
    static let habits: [StandInStore.Habits] = {
        let prompt = StandInStore.Habits()
        var forgetful = prompt
        (forgetful.lateness, forgetful.lostDeletions) = (6, 40)
        var hasty = forgetful
        hasty.answersEarly = true
        return [prompt, forgetful, hasty]
    }()

    @Test(
        "both sides end equal, a cookie that one side alone changes keeps its last change, and no change is repeated"
    )
    func converges() async throws {
        let url = try HTTPURL("https://a.test/")
        for seed in 0..<FuzzRounds.count(ordinary: 90) {
            try await Self.round(seed: UInt64(seed), habits: Self.habits[seed % Self.habits.count], url: url)
        }
    }

    private static func round(seed: UInt64, habits: StandInStore.Habits, url: HTTPURL) async throws {
        var random = SeededRandom(seed: seed)
        let (jar, standIn) = (CookieJar(), StandInStore(habits, seed: seed))
        var configuration = FollowingTests.configuration
        configuration.attempts = 100
        let following = standIn.store.follow(jar, configuration: configuration)
        // Names that only the jar changes, names that only the page changes, and names that both change.
        let (jarOnly, pageOnly, both) = (["j0", "j1"], ["p0", "p1"], ["b0", "b1", "b2"])
        var last: [String: String] = [:]
        var said: Set<String> = []
        for step in 0..<30 {
            let isPage = Bool.random(using: &random)
            guard let name = ((isPage ? pageOnly : jarOnly) + both).randomElement(using: &random) else { continue }
            let value = Int.random(in: 0..<4, using: &random) == 0 ? nil : "\(step)"
            last[name] = value
            if let value { said.insert("\(name)=\(value)") }
            switch (isPage, value) {
            case (true, let value?): standIn.pageSets(name, value)
            case (true, nil): standIn.pageDeletes(name)
            case (false, let value?): jar.store("\(name)=\(value)", from: url)
            case (false, nil): jar.store("\(name)=; Max-Age=0", from: url)
            }
            for _ in 0..<Int.random(in: 0..<40, using: &random) { await Task.yield() }
        }
        // Earlier calls may still take effect late, so wait until no call is open.
        var count = -1
        while count != standIn.writes.count {
            count = standIn.writes.count
            try await following.sync()
            try await standIn.rest()
            try await following.sync()
        }
        #expect(jar.pairs == standIn.pairs, "seed \(seed)")
        #expect(said.isSuperset(of: jar.pairs), "seed \(seed): a value that was never set")
        for name in jarOnly + pageOnly {
            #expect(jar.cookie(name)?.value == last[name], "seed \(seed): the last change of \(name)")
        }
        let (writes, pairs) = (standIn.writes.count, jar.pairs)
        try await following.sync()
        #expect(standIn.writes.count == writes && jar.pairs == pairs, "seed \(seed): an echo")
        await following.stop()
    }
}
