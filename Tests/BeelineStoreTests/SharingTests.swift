// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import BeelineTesting
import CookieJar
import GRDB
import NIOConcurrencyHelpers
import Names
import Testing

@Suite("Several stores on one file")
struct SharingTests {
    /// Two stores on one file, each with a clock of its own.
    final class Pair: Sendable {
        let folder: Folder
        let one: CookieDatabase
        let two: CookieDatabase
        let seconds: NIOLockedValueBox<(one: Double, two: Double)>

        init(
            one: CookieDatabaseConfiguration = .onDemand,
            two: CookieDatabaseConfiguration = .onDemand,
            jar: CookieJarConfiguration = CookieJarConfiguration()
        ) async throws {
            folder = try Folder()
            let seconds = NIOLockedValueBox((one: 0.0, two: 0.0))
            self.seconds = seconds
            self.one = try await CookieDatabase.open(
                folder.file(),
                configuration: one,
                jar: jar,
                clock: { .after(seconds.withLockedValue { $0.one }) }
            )
            self.two = try await CookieDatabase.open(
                folder.file(),
                configuration: two,
                jar: jar,
                clock: { .after(seconds.withLockedValue { $0.two }) }
            )
        }

        func set(one: Double, two: Double) { seconds.withLockedValue { $0 = (one, two) } }

        func flushBoth() async throws {
            for store in [one, two, one] { try await store.flush() }
        }

        func close() async throws {
            try await one.close()
            try await two.close()
        }
    }

    @Test("What one stores, replaces and deletes reaches the other")
    func followsTheOther() async throws {
        let pair = try await Pair()
        pair.one.jar.put("a", "1")
        pair.one.jar.insert(Cookie("session", "s", domain: "example.com"))
        try await pair.one.flush()
        try await pair.two.refresh()
        #expect(try pair.two.header == "a=1; session=s")
        pair.set(one: 1, two: 1)
        pair.two.jar.put("a", "2")
        pair.two.jar.take("session")
        try await pair.two.flush()
        try await pair.one.refresh()
        #expect(try pair.one.header == "a=2")
        pair.one.jar.removeAll()
        try await pair.one.flush()
        try await pair.two.refresh()
        #expect(try pair.two.header == nil)
        try await pair.close()
    }

    @Test("What comes from the file is marked, and is not written back")
    func noEcho() async throws {
        let pair = try await Pair()
        let changes = pair.two.jar.changes
        pair.one.jar.put("a", "1")
        try await pair.one.flush()
        for _ in 0..<3 {
            try await pair.two.flush()
            try await pair.one.flush()
        }
        var iterator = changes.makeAsyncIterator()
        guard case .change(let change)? = await iterator.next() else { Issue.record("no change"); return }
        #expect(change.source == pair.two.changeSource)
        try await pair.close()
        #expect(try pair.folder.look { try Int.fetchOne($0, sql: "SELECT revision FROM state") } == 1)
    }

    /// Two changes of one cookie, and who has the last word.
    struct Conflict: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// When each changes it.
        let one: Double
        let two: Double
        /// The new values; nil: it is deleted.
        let values: (one: String?, two: String?)
        let writesFirst: Int
        let header: String?
    }

    static let conflicts = [
        Conflict(
            testDescription: "the later value wins",
            one: 1,
            two: 2,
            values: ("1", "2"),
            writesFirst: 1,
            header: "a=2"
        ),
        Conflict(
            testDescription: "the later value wins though it is written first",
            one: 1,
            two: 2,
            values: ("1", "2"),
            writesFirst: 2,
            header: "a=2"
        ),
        Conflict(
            testDescription: "a later deletion beats a value",
            one: 1,
            two: 2,
            values: ("1", nil),
            writesFirst: 1,
            header: nil
        ),
        Conflict(
            testDescription: "a later deletion beats a value that is written after it",
            one: 1,
            two: 2,
            values: ("1", nil),
            writesFirst: 2,
            header: nil
        ),
        Conflict(
            testDescription: "a later value beats a deletion",
            one: 1,
            two: 2,
            values: (nil, "2"),
            writesFirst: 1,
            header: "a=2"
        ),
        Conflict(
            testDescription: "a later value beats a deletion that is written after it",
            one: 1,
            two: 2,
            values: (nil, "2"),
            writesFirst: 2,
            header: "a=2"
        ),
        Conflict(testDescription: "both delete it", one: 1, two: 2, values: (nil, nil), writesFirst: 2, header: nil),
        Conflict(
            testDescription: "of one moment, what is in the file stays",
            one: 1,
            two: 1,
            values: ("1", "2"),
            writesFirst: 2,
            header: "a=2"
        ),
    ]

    @Test("Of two changes that know nothing of each other the later one counts, in both jars", arguments: conflicts)
    func conflict(_ row: Conflict) async throws {
        let pair = try await Pair()
        pair.one.jar.put("a", "0")
        try await pair.flushBoth()
        pair.set(one: row.one, two: row.two)
        for (store, value) in [(pair.one, row.values.one), (pair.two, row.values.two)] {
            if let value { store.jar.put("a", value) } else { store.jar.take("a") }
        }
        for store in row.writesFirst == 1 ? [pair.one, pair.two, pair.one] : [pair.two, pair.one, pair.two] {
            try await store.flush()
        }
        #expect(try pair.one.header == row.header)
        #expect(try pair.two.header == row.header)
        try await pair.close()
        let after = try await CookieDatabase.open(pair.folder)
        #expect(try after.header == row.header)
        try await after.close()
    }

    @Test("A change that is not written yet is kept or given up by its time, when the other's is seen first")
    func unwritten() async throws {
        for (mine, theirs, header) in [(1.0, 2.0, "a=theirs"), (2.0, 1.0, "a=mine")] {
            let pair = try await Pair()
            pair.set(one: mine, two: theirs)
            pair.one.jar.put("a", "mine")
            pair.two.jar.put("a", "theirs")
            try await pair.two.flush()
            try await pair.one.refresh()
            #expect(try pair.one.header == header)
            try await pair.flushBoth()
            #expect(try pair.two.header == header)
            try await pair.close()
        }
    }

    @Test("Who has seen a change makes newer ones, even by a clock that was put back")
    func clockPutBack() async throws {
        let pair = try await Pair()
        pair.set(one: 1000, two: 0)
        pair.one.jar.put("a", "1", seconds: 9000)
        try await pair.one.flush()
        try await pair.two.refresh()
        pair.two.jar.put("a", "2", seconds: 9000)
        try await pair.flushBoth()
        #expect(try pair.one.header == "a=2")
        try await pair.close()
    }

    @Test("A cookie that one jar evicts stays when the other has changed it since")
    func evictionGivesWay() async throws {
        var jar = CookieJarConfiguration()
        jar.maximumCookiesPerDomain = 3
        let pair = try await Pair(jar: jar)
        for name in ["a", "b", "c"] { pair.one.jar.put(name, "1") }
        try await pair.flushBoth()
        pair.set(one: 5, two: 1)
        pair.two.jar.put("a", "renewed")
        try await pair.two.flush()
        pair.one.jar.put("d", "1")
        #expect(pair.one.jar.allCookies().count == 3)
        try await pair.one.flush()
        #expect(
            try pair.folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie WHERE name = x'61'") } == 1
        )
        try await pair.close()
    }

    @Test("A cookie that expires here and was renewed there lives on")
    func renewal() async throws {
        let pair = try await Pair()
        pair.one.jar.put("a", "old", seconds: 10)
        try await pair.flushBoth()
        pair.set(one: 11, two: 5)
        pair.two.jar.put("a", "new", seconds: 1000)
        try await pair.two.flush()
        pair.one.jar.removeExpired()
        try await pair.one.flush()
        #expect(try pair.one.header == "a=new")
        try await pair.close()
    }

    @Test("Who has missed deletions that are forgotten reads the whole file")
    func forgottenDeletions() async throws {
        var forgetful = CookieDatabaseConfiguration.onDemand
        forgetful.maximumDeletions = 0
        let pair = try await Pair(one: forgetful)
        for name in ["a", "b", "c"] { pair.one.jar.put(name, "1") }
        try await pair.flushBoth()
        pair.set(one: 1, two: 2)
        pair.one.jar.take("a")
        pair.one.jar.take("b")
        try await pair.one.flush()
        pair.one.jar.put("d", "1")
        try await pair.one.flush()
        #expect(try pair.folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM deletion") } == 0)
        // A change of its own that is not written yet survives.
        pair.two.jar.put("mine", "1")
        try await pair.two.refresh()
        #expect(try pair.two.header == "c=1; d=1; mine=1")
        try await pair.flushBoth()
        #expect(try pair.one.header == "c=1; d=1; mine=1")
        try await pair.close()
    }

    @Test("More changes than can be remembered are found by comparing, and others' changes stay")
    func overrun() async throws {
        var small = CookieDatabaseConfiguration.onDemand
        small.maximumPendingChanges = 10
        small.writeBatchCount = 1_000_000
        let pair = try await Pair(one: small)
        for number in 0..<5 { pair.one.jar.put("old\(number)", "1") }
        try await pair.flushBoth()
        pair.set(one: 1, two: 1)
        pair.two.jar.put("theirs", "1")
        pair.two.jar.take("old4")
        try await pair.two.flush()
        small.maximumPendingChanges = 10
        for number in 0..<100 { pair.one.jar.put("new\(number)", "1") }
        pair.one.jar.take("old0")
        try await pair.flushBoth()
        let names = Set(pair.one.jar.allCookies().map(\.name))
        #expect(names.count == 104)
        #expect(names.isSuperset(of: ["old1", "old2", "old3", "theirs", "new0", "new99"]))
        #expect(Set(pair.two.jar.allCookies().map(\.name)) == names)
        try await pair.close()
    }

    @Test(
        "Changes of others that are looked at while there are too many of one's own to remember are taken over, and stay"
    )
    func overrunAndRefresh() async throws {
        var small = CookieDatabaseConfiguration.onDemand
        small.maximumPendingChanges = 10
        small.writeBatchCount = 10
        let pair = try await Pair(one: small)
        for name in ["kept", "changed", "gone"] { pair.one.jar.put(name, "1") }
        try await pair.flushBoth()
        pair.set(one: 1, two: 2)
        pair.two.jar.put("theirs", "1")
        pair.two.jar.put("changed", "2")
        pair.two.jar.take("gone")
        try await pair.two.flush()
        for number in 0..<100 { pair.one.jar.put("new\(number)", "1") }
        try await pair.one.refresh()
        #expect(pair.one.jar.allCookies().first { $0.name == "theirs" }?.value == "1")
        try await pair.flushBoth()
        for jar in [pair.one.jar, pair.two.jar] {
            let values = Dictionary(uniqueKeysWithValues: jar.allCookies().map { ($0.name, $0.value) })
            #expect(values.count == 103)
            #expect((values["kept"], values["theirs"], values["changed"], values["gone"]) == ("1", "1", "2", nil))
        }
        try await pair.close()
    }

    @Test(
        "New cookies that are too many to remember stay where deletions of others are forgotten",
        arguments: [true, false]
    )
    func overrunAndForgottenDeletions(_ looksFirst: Bool) async throws {
        var (small, forgetful) = (CookieDatabaseConfiguration.onDemand, CookieDatabaseConfiguration.onDemand)
        (small.maximumPendingChanges, small.writeBatchCount) = (10, 10)
        forgetful.maximumDeletions = 0
        let pair = try await Pair(one: small, two: forgetful)
        for name in ["kept", "gone"] { pair.one.jar.put(name, "1") }
        try await pair.flushBoth()
        pair.set(one: 1, two: 1)
        pair.two.jar.take("gone")
        try await pair.two.flush()
        pair.two.jar.put("theirs", "1")
        try await pair.two.flush()
        for number in 0..<100 { pair.one.jar.put("new\(number)", "1") }
        if looksFirst { try await pair.one.refresh() }
        try await pair.flushBoth()
        for jar in [pair.one.jar, pair.two.jar] {
            let names = Set(jar.allCookies().map(\.name))
            #expect(names.count == 102 && names.isSuperset(of: ["kept", "theirs", "new0", "new99"]))
        }
        try await pair.close()
    }

    @Test("A file that is locked for too long is an error, and nothing of the batch is lost")
    func locked() async throws {
        let folder = try Folder()
        var impatient = CookieDatabaseConfiguration.onDemand
        impatient.busyTimeout = .milliseconds(20)
        let store = try await CookieDatabase.open(folder, impatient)
        store.jar.put("a", "1")
        let other = try folder.openDatabase()
        try await other.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
        await #expect { try await store.flush() } throws: { ($0 as? StoreError)?.code == .busy }
        store.jar.put("b", "2")
        try await other.writeWithoutTransaction { try $0.rollback() }
        try other.close()
        try await store.flush()
        try await store.close()
        let again = try await CookieDatabase.open(folder)
        #expect(try again.header == "a=1; b=2")
        try await again.close()
    }

    @Test("Without flush and refresh, a change is in the other jar after a delay and an interval")
    func byItself() async throws {
        var quick = CookieDatabaseConfiguration()
        quick.writeDelay = .milliseconds(5)
        quick.refreshInterval = .milliseconds(5)
        let pair = try await Pair(one: quick, two: quick)
        try await withTimeLimit(.seconds(20), { "a cookie of the other store" }) {
            var changes = pair.two.jar.changes.makeAsyncIterator()
            pair.one.jar.put("a", "1")
            _ = await changes.next()
            pair.one.jar.take("a")
            _ = await changes.next()
        }
        #expect(try pair.two.header == nil)
        try await pair.close()
    }

    @Test("Stores that open and close one file at once never fail, and all their cookies are there at the end")
    func openingAtOnce() async throws {
        let folder = try Folder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<10 {
                        let store = try await CookieDatabase.open(folder, .restoring)
                        store.jar.insert(Cookie("n\(number)-\(round)", "1", domain: "example.com"))
                        try await store.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        let store = try await CookieDatabase.open(folder, .restoring)
        #expect(store.jar.allCookies().count == 80)
        #expect(store.report.messages.isEmpty)
        try await store.close()
        #expect(folder.names == ["jar.sqlite"])
    }
}
