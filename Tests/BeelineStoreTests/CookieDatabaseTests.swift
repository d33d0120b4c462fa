// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import GRDB
import Names
import Testing

@Suite("Cookie database")
struct CookieDatabaseTests {
    @Test("a cookie is restored with its octets, attributes, times and partition")
    func roundTrip() async throws {
        let folder = try Folder()
        var cookies: [Cookie] = []
        for sameSite in Cookie.SameSite.allCases {
            for (index, partition) in [nil, Site("https://top.example"), Site("http://[::1]")].enumerated() {
                cookies.append(
                    Cookie(
                        nameOctets: [0xff, 0x80, UInt8(ascii: "n"), UInt8(0x41 + index)],
                        valueOctets: [0xc3, 0x28, 0x22, 0xfe, 0x09, 0x7e],
                        domain: "sub.example.com",
                        isHostOnly: index == 1,
                        path: "/a/\(sameSite.rawValue)",
                        expires: index == 2 ? nil : .after(1000 + Double(index) / 1e6),
                        created: .after(-5.000_001),
                        lastAccessed: .after(-2),
                        isSecure: true,
                        isHTTPOnly: index == 0,
                        sameSite: sameSite,
                        partition: partition
                    )
                )
            }
        }
        cookies.append(Cookie("", "nameless", domain: "192.0.2.7"))
        cookies.append(Cookie("six", "", domain: "[2001:db8::1]", path: "/%2f"))
        let first = try await CookieDatabase.open(folder)
        for outcome in first.jar.insert(cookies) { #expect(outcome == .kept) }
        let before = Set(first.jar.allCookies())
        try await first.close()

        let second = try await CookieDatabase.open(folder, .restoring)
        #expect(Set(second.jar.allCookies()) == before)
        #expect(second.report.loaded == cookies.count)
        #expect(second.report.skipped == 0)
        #expect(second.report.messages.isEmpty)
        try await second.close()
        // Closing the last store removes all files but the database.
        #expect(folder.names == ["jar.sqlite"])
    }

    @Test("the order of the Cookie header is restored, even for cookies created at the same time")
    func order() async throws {
        let folder = try Folder()
        let url = try HTTPURL("https://example.com/")
        let first = try await CookieDatabase.open(folder)
        for name in ["c", "a", "d", "b"] { first.jar.store("\(name)=1; Max-Age=60", from: url) }
        first.jar.store("a=2; Max-Age=60", from: url)
        try await first.close()
        let second = try await CookieDatabase.open(folder)
        #expect(try second.header == "c=1; a=2; d=1; b=1")
        try await second.close()
    }

    @Test("session cookies are restored only if configured, and deleted otherwise")
    func sessions() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.insert(Cookie("session", "1", domain: "example.com"))
        first.jar.put("kept", "2")
        try await first.close()

        let restored = try await CookieDatabase.open(folder, .restoring)
        #expect(try restored.header == "session=1; kept=2")
        // `clearSession` ignores restored cookies, which belong to an earlier session.
        #expect(restored.jar.clearSession() == 0)
        try await restored.close()

        let fresh = try await CookieDatabase.open(folder)
        #expect(try fresh.header == "kept=2")
        #expect(fresh.report.endedSession == 1)
        try await fresh.close()

        let again = try await CookieDatabase.open(folder, .restoring)
        #expect(try again.header == "kept=2")
        try await again.close()
    }

    @Test("a store that joins a running session gets its cookies and does not end it")
    func joining() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.insert(Cookie("session", "1", domain: "example.com"))
        try await first.flush()
        let second = try await CookieDatabase.open(folder)
        #expect(second.report.isShared)
        #expect(try second.header == "session=1")
        try await second.close()
        try await first.close()
        let restored = try await CookieDatabase.open(folder, .restoring)
        #expect(try restored.header == "session=1")
        try await restored.close()
    }

    @Test(
        "clearSession removes only the cookies that this session stored, from the jar and from the file"
    )
    func clearingSession() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("kept", "1")
        first.jar.insert(Cookie("session", "1", domain: "example.com"))
        try await first.close()

        let second = try await CookieDatabase.open(folder, .restoring)
        second.jar.put("new", "2")
        second.jar.insert(Cookie("own", "2", domain: "example.com"))
        let other = try await CookieDatabase.open(folder, .restoring)
        other.jar.put("others", "3")
        try await other.flush()
        try await second.flush()
        #expect(second.jar.allCookies().count == 5)
        #expect(second.jar.clearSession() == 2)
        #expect(Set(second.jar.allCookies().map(\.name)) == ["kept", "session", "others"])
        try await second.close()
        try await other.refresh()
        #expect(Set(other.jar.allCookies().map(\.name)) == ["kept", "session", "others"])
        try await other.close()

        let third = try await CookieDatabase.open(folder, .restoring)
        #expect(Set(third.jar.allCookies().map(\.name)) == ["kept", "session", "others"])
        // In contrast, endSession removes all cookies without an expiry, from any session.
        #expect(third.jar.endSession() == 1)
        try await third.close()
        #expect(try folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie WHERE expires IS NULL") } == 0)
    }

    @Test("jars in different files are independent")
    func isolation() async throws {
        let folder = try Folder()
        let open = { (name: String) in
            try await CookieDatabase.open(folder.file(name), configuration: .onDemand, clock: { noon })
        }
        let (anna, ben) = (try await open("anna.sqlite"), try await open("ben.sqlite"))
        anna.jar.put("user", "anna")
        ben.jar.put("user", "ben")
        for store in [anna, ben] { try await store.flush() }
        for store in [anna, ben] { try await store.refresh() }
        #expect(try anna.header == "user=anna")
        #expect(try ben.header == "user=ben")
        for store in [anna, ben] { try await store.close() }
        let again = try await open("anna.sqlite")
        #expect(try again.header == "user=anna")
        try await again.close()
    }

    @Test("partitioned cookies keep their top-level site")
    func partitions() async throws {
        let folder = try Folder()
        let ad = try HTTPURL("https://ad.example/")
        let page = { (site: String) in CookieContext(site: .cross, topLevelSite: Site(site)) }
        let first = try await CookieDatabase.open(folder)
        for (number, site) in ["https://a.com", "https://b.com"].enumerated() {
            let field = "__Host-p=\(number); Secure; Path=/; SameSite=None; Partitioned; Max-Age=60"
            #expect(first.jar.store(field, from: ad, context: page(site)) == .kept)
        }
        try await first.close()
        let second = try await CookieDatabase.open(folder)
        #expect(second.jar.header(for: ad, context: page("https://a.com")) == "__Host-p=0")
        #expect(second.jar.header(for: ad, context: page("https://b.com")) == "__Host-p=1")
        #expect(second.jar.header(for: ad, context: page("https://c.com")) == nil)
        #expect(second.jar.header(for: ad) == nil)
        try await second.close()
    }

    @Test("expired cookies are removed from the jar and from the file")
    func expiry() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("short", "1", seconds: 10)
        first.jar.put("long", "2", seconds: 1000)
        try await first.close()
        let second = try await CookieDatabase.open(folder, at: 10)
        #expect(try second.jar.header(for: HTTPURL("https://example.com/"), now: .after(5)) == "long=2")
        #expect(second.report.expired == 1)
        try await second.close()
        #expect(try folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie") } == 1)
    }

    @Test(
        "a cookie that was stored while the clock was ahead expires 400 days after the next opening, however often it is read"
    )
    func clockWasAhead() async throws {
        let folder = try Folder()
        let day = 86_400.0
        let first = try await CookieDatabase.open(folder, at: 4_000 * day)
        first.jar.put("a", "1", seconds: 4_399 * day)
        try await first.close()
        for days in [0.0, 300] {
            let store = try await CookieDatabase.open(folder, at: days * day)
            #expect(store.jar.allCookies().map(\.expires) == [.after(400 * day)])
            try await store.close()
        }
        let last = try await CookieDatabase.open(folder, at: 400 * day)
        #expect(last.jar.allCookies().isEmpty && last.report.expired == 1)
        try await last.close()
    }

    @Test("an opening before the clock is set shortens the life of no cookie, in the file or in the jar")
    func clockAt1970() async throws {
        let folder = try Folder()
        let expiry = CookieTime.after(300 * 86_400)
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1", seconds: 300 * 86_400)
        try await first.close()
        let early = try await CookieDatabase.open(
            folder.file(),
            configuration: .onDemand,
            clock: { CookieTime(secondsSince1970: 60) }
        )
        early.jar.put("b", "1", seconds: 300 * 86_400)
        #expect(early.jar.allCookies().map(\.expires) == [expiry, expiry])
        try await early.close()
        let last = try await CookieDatabase.open(folder)
        #expect(last.jar.allCookies().map(\.expires) == [expiry, expiry])
        try await last.close()
    }

    @Test("a cookie that leaves the jar in any way is removed from the file")
    func removals() async throws {
        let folder = try Folder()
        let url = try HTTPURL("https://example.com/")
        let first = try await CookieDatabase.open(folder)
        for name in ["a", "b", "c", "d"] { first.jar.put(name, "1") }
        try await first.flush()
        first.jar.take("a")
        first.jar.store("b=; Max-Age=0", from: url)
        first.jar.remove { $0.name == "c" }
        try await first.close()
        let second = try await CookieDatabase.open(folder)
        #expect(try second.header == "d=1")
        second.jar.removeAll()
        try await second.close()
        let third = try await CookieDatabase.open(folder)
        #expect(third.jar.allCookies().isEmpty)
        try await third.close()
    }

    @Test("cookies that a smaller jar evicts on loading are removed from the file")
    func eviction() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for number in 0..<50 { first.jar.put("n\(number)", "1") }
        try await first.close()
        var small = CookieJarConfiguration()
        small.maxCookiesPerDomain = 20
        let second = try await CookieDatabase.open(folder, jar: small)
        #expect(second.jar.allCookies().count == 20)
        try await second.close()
        #expect(try folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie") } == 20)
    }

    @Test("a flush writes the times of last access")
    func lastAccess() async throws {
        let folder = try Folder()
        let url = try HTTPURL("https://example.com/")
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1")
        try await first.flush()
        _ = first.jar.header(for: url, now: .after(100))
        try await first.close()
        let second = try await CookieDatabase.open(folder)
        #expect(second.jar.allCookies().first?.lastAccessed == .after(100))
        try await second.close()
    }

    @Test("a closed store keeps its jar in memory, and flush and refresh throw an error")
    func closing() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.close()
        try await store.close()
        store.jar.put("b", "2")
        #expect(try store.header == "a=1; b=2")
        await #expect { try await store.flush() } throws: { ($0 as? StoreError)?.code == .closed }
        await #expect { try await store.refresh() } throws: { ($0 as? StoreError)?.code == .closed }
        let again = try await CookieDatabase.open(folder)
        #expect(try again.header == "a=1")
        try await again.close()
    }

    @Test("a store that is released without close writes its last batch and releases the file")
    func forgetting() async throws {
        let folder = try Folder()
        var store: CookieDatabase? = try await CookieDatabase.open(folder)
        store?.jar.put("a", "1")
        store = nil
        // New stores share the file with the released one until it has finished.
        while true {
            let next = try await CookieDatabase.open(folder)
            defer { #expect(next.jar.allCookies().count <= 1) }
            let (isShared, header) = (next.report.isShared, try next.header)
            try await next.close()
            if !isShared {
                #expect(header == "a=1")
                break
            }
        }
    }
}
