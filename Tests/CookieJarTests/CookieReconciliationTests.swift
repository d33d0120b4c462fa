// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Testing

/// Synchronization rounds between a jar and a store, as a table: the state of both, and the side that changes.
@Suite("Reconciliation of a jar and another store")
struct CookieReconciliationTests {
    /// The state of one side: a value and the time when it was set.
    typealias Side = (value: String, at: Double)?

    enum Verdict: Equatable {
        case nothing, intoJar(String), outOfJar, intoStorage(String), outOfStorage
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var before: (jar: Side, storage: Side)?
        let jar: Side
        let storage: Side
        /// The change that the jar reported: its kind and its time.
        var news: (kind: CookieChange.Kind, at: Double)?
        var truth = CookieReconciliation.Side.jar
        let verdict: Verdict
    }

    static func cookie(_ side: Side, expires: Double? = nil) -> Cookie? {
        guard let side else { return nil }
        var cookie = Cookie("a", side.value, domain: "a.test")
        cookie.created = .after(side.at)
        cookie.expires = expires.map { .after($0) }
        return cookie
    }

    static func sides(_ jar: Cookie?, _ storage: Cookie?) throws -> ([CookiePlace: Cookie], [CookiePlace: Cookie]) {
        let place = CookiePlace(Cookie("a", "", domain: "a.test"))
        return (jar.map { [place: $0] } ?? [:], storage.map { [place: $0] } ?? [:])
    }

    /// A store that does not keep SameSite.
    @Sendable static func kept(of cookie: Cookie) -> Cookie? {
        var cookie = cookie
        cookie.sameSite = .unspecified
        return cookie
    }

    static func verdict(_ plan: CookieReconciliation.Plan) -> [Verdict] {
        plan.intoJar.map { .intoJar($0.new.value) } + plan.outOfJar.map { _ in .outOfJar }
            + plan.intoStore.map { .intoStorage($0.value) } + plan.outOfStore.map { _ in .outOfStorage }
    }

    static let rows: [Row] = [
        Row(testDescription: "nothing anywhere", jar: nil, storage: nil, verdict: .nothing),
        Row(testDescription: "at first: the jar alone has it", jar: ("1", 0), storage: nil, verdict: .intoStorage("1")),
        Row(testDescription: "at first: the storage alone has it", jar: nil, storage: ("1", 0), verdict: .intoJar("1")),
        Row(testDescription: "at first: both have the same", jar: ("1", 0), storage: ("1", 5), verdict: .nothing),
        Row(
            testDescription: "at first both differ: the source of truth wins at any times",
            jar: ("1", 0),
            storage: ("2", 5),
            verdict: .intoStorage("1")
        ),
        Row(
            testDescription: "at first both differ, and the storage is the source of truth",
            jar: ("1", 9),
            storage: ("2", 5),
            truth: .store,
            verdict: .intoJar("2")
        ),
        Row(
            testDescription: "unchanged",
            before: (("1", 0), ("1", 0)),
            jar: ("1", 0),
            storage: ("1", 0),
            verdict: .nothing
        ),
        Row(
            testDescription: "an equal cookie in a newer object is not a change",
            before: (("1", 0), ("1", 0)),
            jar: ("1", 0),
            storage: ("1", 9),
            verdict: .nothing
        ),
        Row(
            testDescription: "the jar changed",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: ("1", 0),
            verdict: .intoStorage("2")
        ),
        Row(
            testDescription: "the storage changed",
            before: (("1", 0), ("1", 0)),
            jar: ("1", 0),
            storage: ("2", 5),
            verdict: .intoJar("2")
        ),
        Row(
            testDescription: "the storage changed after the jar",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: ("3", 5),
            news: (.replaced, 4),
            verdict: .intoJar("3")
        ),
        Row(
            testDescription: "the jar changed after the storage",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: ("3", 5),
            news: (.replaced, 6),
            truth: .store,
            verdict: .intoStorage("2")
        ),
        Row(
            testDescription: "both changed, and the jar's changes were lost: the source of truth wins",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: ("3", 5),
            verdict: .intoStorage("2")
        ),
        Row(
            testDescription: "both changed at the same time: the source of truth wins",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: ("3", 5),
            news: (.replaced, 5),
            truth: .store,
            verdict: .intoJar("3")
        ),
        Row(
            testDescription: "a deletion in the jar travels",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: ("1", 0),
            news: (.removed(.explicit), 5),
            verdict: .outOfStorage
        ),
        Row(
            testDescription: "a deletion by a response travels",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: ("1", 0),
            news: (.removed(.overwritten), 5),
            verdict: .outOfStorage
        ),
        Row(
            testDescription: "a cookie that the full jar evicted stays in the storage",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: ("1", 0),
            news: (.removed(.evicted), 5),
            verdict: .nothing
        ),
        Row(
            testDescription: "a deletion in the storage travels",
            before: (("1", 0), ("1", 0)),
            jar: ("1", 0),
            storage: nil,
            verdict: .outOfJar
        ),
        Row(
            testDescription: "a deletion in the jar that is newer than a change in the storage",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: ("2", 4),
            news: (.removed(.explicit), 5),
            truth: .store,
            verdict: .outOfStorage
        ),
        Row(
            testDescription: "a change in the storage that is newer than a deletion in the jar",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: ("2", 6),
            news: (.removed(.explicit), 5),
            verdict: .intoJar("2")
        ),
        Row(
            testDescription: "a deletion in the storage has no time: the source of truth wins over a change in the jar",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: nil,
            news: (.replaced, 5),
            verdict: .intoStorage("2")
        ),
        Row(
            testDescription: "the same, if the storage is the source of truth",
            before: (("1", 0), ("1", 0)),
            jar: ("2", 0),
            storage: nil,
            news: (.replaced, 5),
            truth: .store,
            verdict: .outOfJar
        ),
        Row(
            testDescription: "deleted on both sides",
            before: (("1", 0), ("1", 0)),
            jar: nil,
            storage: nil,
            news: (.removed(.explicit), 5),
            verdict: .nothing
        ),
        Row(
            testDescription: "a change that one side refused is not offered again",
            before: (("1", 0), nil),
            jar: ("1", 0),
            storage: nil,
            verdict: .nothing
        ),
        Row(
            testDescription: "a refused cookie is offered again when it changes",
            before: (nil, ("1", 0)),
            jar: nil,
            storage: ("2", 0),
            verdict: .intoJar("2")
        ),
    ]

    @Test("a change on one side is applied to the other by the rules of reconciliation", arguments: rows)
    func decides(_ row: Row) throws {
        var reconciliation = CookieReconciliation(truth: row.truth, kept: Self.kept)
        if let before = row.before {
            let (jar, storage) = try Self.sides(Self.cookie(before.jar), Self.cookie(before.storage))
            _ = reconciliation.plan(jar: jar, store: storage, now: .after(1))
            reconciliation.settle(jar: jar, store: storage, outdated: [])
        }
        if let news = row.news {
            let cookie = try #require(Self.cookie(row.jar ?? row.before?.jar))
            reconciliation.note(.init(kind: news.kind, cookie: cookie, time: .after(news.at), source: nil))
        }
        let (jar, storage) = try Self.sides(Self.cookie(row.jar), Self.cookie(row.storage))
        let plan = reconciliation.plan(jar: jar, store: storage, now: .after(10))
        #expect(Self.verdict(plan) == (row.verdict == .nothing ? [] : [row.verdict]))
    }

    @Test("a cookie that expires on one side is not deleted on the other", arguments: [true, false])
    func expiry(_ isInJar: Bool) throws {
        var reconciliation = CookieReconciliation(truth: .jar, kept: Self.kept)
        let (short, long) = (Self.cookie(("1", 0), expires: 60), Self.cookie(("1", 0), expires: 90))
        let (jar, storage) = try Self.sides(isInJar ? short : long, isInJar ? long : short)
        reconciliation.settle(jar: jar, store: storage, outdated: [])
        let (later, other) = try Self.sides(isInJar ? nil : long, isInJar ? long : nil)
        let plan = reconciliation.plan(jar: later, store: other, now: .after(61))
        #expect(Self.verdict(plan) == [])
    }

    @Test("a cookie that changed during a round is planned again in the next round")
    func outdated() throws {
        var reconciliation = CookieReconciliation(truth: .jar, kept: Self.kept)
        let (jar, storage) = try Self.sides(nil, Self.cookie(("1", 0)))
        #expect(Self.verdict(reconciliation.plan(jar: jar, store: storage, now: noon)) == [.intoJar("1")])
        reconciliation.settle(jar: jar, store: storage, outdated: Set(storage.keys))
        #expect(Self.verdict(reconciliation.plan(jar: jar, store: storage, now: noon)) == [.intoJar("1")])
    }

    @Test("attributes that the store cannot hold stay unchanged when the store sets a new value")
    func inheritance() throws {
        var mine = try #require(Self.cookie(("1", 0)))
        (mine.sameSite, mine.isSecure) = (.none, true)
        var theirs = mine
        (theirs.sameSite, theirs.valueOctets) = (.unspecified, Array("2".utf8))
        var reconciliation = CookieReconciliation(truth: .jar, kept: Self.kept)
        var (jar, storage) = try Self.sides(mine, mine)
        reconciliation.settle(jar: jar, store: storage, outdated: [])
        (jar, storage) = try Self.sides(mine, theirs)
        let plan = reconciliation.plan(jar: jar, store: storage, now: noon)
        #expect(plan.intoJar.first?.new.sameSite == Cookie.SameSite.none)
        #expect(plan.intoJar.first?.new.value == "2")
    }
}
