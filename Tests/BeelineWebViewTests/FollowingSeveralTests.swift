// SPDX-License-Identifier: Apache-2.0

import BeelineWebView
import CookieJar
import Names
import Testing

@Suite("Following several web stores")
struct FollowingSeveralTests: FollowingSuite {
    let jar = CookieJar()
    let standIn = StandInStore()
    let reports = Reports()
    let url: HTTPURL

    init() throws {
        url = try HTTPURL("https://a.test/")
    }

    @Test("when two stores follow one jar, a login in one page is a login in the other")
    func severalViews() async throws {
        let other = StandInStore(seed: 2)
        let (first, second) = (follow(), other.store.follow(jar, configuration: Self.configuration))
        standIn.pageSets("sid", "42")
        try await first.sync()
        try await second.sync()
        #expect(other.pairs == ["sid=42"])
        other.pageDeletes("sid")
        try await second.sync()
        try await first.sync()
        #expect(standIn.pairs == [] && jar.pairs == [])
        await first.stop()
        await second.stop()
    }

    @Test("following one store twice copies each change, without repetition")
    func twice() async throws {
        let (first, second) = (follow(), follow())
        standIn.pageSets("a", "1")
        jar.store("b=1", from: url)
        for _ in 0..<2 {
            try await first.sync()
            try await second.sync()
        }
        let writes = standIn.writes.count
        try await first.sync()
        try await second.sync()
        #expect(jar.pairs == ["a=1", "b=1"] && standIn.pairs == jar.pairs)
        // Each follower writes a cookie at most once; they may do so at the same time.
        #expect(standIn.writes.count == writes && writes <= 4)
        await first.stop()
        await second.stop()
    }

    @Test("the jars and stores of different profiles never share cookies")
    func profiles() async throws {
        let (otherJar, otherStore) = (CookieJar(), StandInStore(seed: 2))
        let (mine, theirs) = (follow(), otherStore.store.follow(otherJar, configuration: Self.configuration))
        jar.store("sid=ada", from: url)
        otherStore.pageSets("sid", "eve")
        try await mine.sync()
        try await theirs.sync()
        #expect(jar.pairs == ["sid=ada"] && standIn.pairs == ["sid=ada"])
        #expect(otherJar.pairs == ["sid=eve"] && otherStore.pairs == ["sid=eve"])
        await mine.stop()
        await theirs.stop()
    }
}
