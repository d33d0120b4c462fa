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
    /// Two stores on one file, each with its own clock.
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

    @Test("each store gets the additions, replacements and deletions of the other")
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

    @Test("changes from the file are marked with their source and are not written back")
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

    /// Two changes of one cookie, and the one that wins.
    struct Conflict: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The time of each change.
        let one: Double
        let two: Double
        /// The new values; nil deletes the cookie.
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

    @Test("of two concurrent changes, the later one wins in both jars", arguments: conflicts)
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

    @Test("an unwritten change is kept or dropped by its time when the other change is read first")
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

    @Test("a change made after reading another one is newer, even if the clock went back")
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

    @Test("a cookie that one jar evicts stays in the file if the other has changed it since")
    func evictionGivesWay() async throws {
        var jar = CookieJarConfiguration()
        jar.maxCookiesPerDomain = 3
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

    @Test("a cookie that expires in one jar stays if the other has renewed it")
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

    @Test("a store that missed deletions which are no longer recorded reads the whole file")
    func forgottenDeletions() async throws {
        var forgetful = CookieDatabaseConfiguration.onDemand
        forgetful.maxDeletions = 0
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
        // An unwritten change of the reading store is kept.
        pair.two.jar.put("mine", "1")
        try await pair.two.refresh()
        #expect(try pair.two.header == "c=1; d=1; mine=1")
        try await pair.flushBoth()
        #expect(try pair.one.header == "c=1; d=1; mine=1")
        try await pair.close()
    }

    @Test("with more changes than it can record, a store compares its jar with the file and keeps the other's changes")
    func overrun() async throws {
        var small = CookieDatabaseConfiguration.onDemand
        small.maxPendingChanges = 10
        small.writeBatchCount = 1_000_000
        let pair = try await Pair(one: small)
        for number in 0..<5 { pair.one.jar.put("old\(number)", "1") }
        try await pair.flushBoth()
        pair.set(one: 1, two: 1)
        pair.two.jar.put("theirs", "1")
        pair.two.jar.take("old4")
        try await pair.two.flush()
        small.maxPendingChanges = 10
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
        "the other's changes are also kept when they are read while too many own changes are pending"
    )
    func overrunAndRefresh() async throws {
        var small = CookieDatabaseConfiguration.onDemand
        small.maxPendingChanges = 10
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
        "new cookies beyond the record are kept even when the other's deletions are no longer recorded",
        arguments: [true, false]
    )
    func overrunAndForgottenDeletions(_ looksFirst: Bool) async throws {
        var (small, forgetful) = (CookieDatabaseConfiguration.onDemand, CookieDatabaseConfiguration.onDemand)
        (small.maxPendingChanges, small.writeBatchCount) = (10, 10)
        forgetful.maxDeletions = 0
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

    @Test("new cookies stay in the jar if they exceed the limit of pending changes while others' changes are read")
    func overrunMeanwhile() async throws {
        var (small, forgetful) = (CookieDatabaseConfiguration.onDemand, CookieDatabaseConfiguration.onDemand)
        (small.maxPendingChanges, small.writeBatchCount) = (10, 10)
        forgetful.maxDeletions = 0
        let folder = try Folder()
        let hook = NIOLockedValueBox<(calls: Int, body: @Sendable () -> Void)?>(nil)
        let seconds = NIOLockedValueBox(0.0)
        let one = try await CookieDatabase.open(
            folder.file(),
            configuration: small,
            clock: {
                let body = hook.withLockedValue { hook -> (@Sendable () -> Void)? in
                    guard let (calls, body) = hook else { return nil }
                    hook = calls == 1 ? nil : (calls - 1, body)
                    return calls == 1 ? body : nil
                }
                body?()
                return .after(seconds.withLockedValue { $0 })
            }
        )
        let two = try await CookieDatabase.open(folder, forgetful)
        for name in ["kept", "gone"] { one.jar.put(name, "1") }
        for store in [one, two] { try await store.flush() }
        two.jar.take("gone")
        try await two.flush()
        two.jar.put("theirs", "1")
        try await two.flush()
        seconds.withLockedValue { $0 = 1 }
        for number in 0..<5 { one.jar.put("new\(number)", "1") }
        // The clock is read when the jar is copied, and again when the changes are applied to it.
        hook.withLockedValue { hook in
            hook = (2, { for number in 5..<50 { one.jar.put("new\(number)", "1") } })
        }
        try await one.refresh()
        #expect(hook.withLockedValue { $0 == nil })
        for store in [one, two, one] { try await store.flush() }
        for jar in [one.jar, two.jar] {
            let names = Set(jar.allCookies().map(\.name))
            #expect(names.count == 52 && names.isSuperset(of: ["kept", "theirs", "new0", "new49"]))
        }
        try await one.close()
        try await two.close()
    }

    @Test("a file that stays locked is an error, and the batch is written later")
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

    @Test("without flush and refresh, a change reaches the other jar after the write delay and the refresh interval")
    func byItself() async throws {
        var quick = CookieDatabaseConfiguration()
        quick.writeDelay = .milliseconds(5)
        quick.refreshInterval = .milliseconds(5)
        let pair = try await Pair(one: quick, two: quick)
        try await withTimeLimit(.seconds(20), for: { "a cookie of the other store" }) {
            var changes = pair.two.jar.changes.makeAsyncIterator()
            pair.one.jar.put("a", "1")
            _ = await changes.next()
            pair.one.jar.take("a")
            _ = await changes.next()
        }
        #expect(try pair.two.header == nil)
        try await pair.close()
    }

    @Test("stores that open and close one file concurrently never fail and keep all cookies")
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
