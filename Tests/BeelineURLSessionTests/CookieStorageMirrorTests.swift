// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("CookieStorageMirror")
struct CookieStorageMirrorTests {
    let jar = CookieJar()
    let storage: HTTPCookieStorage
    let mirror: CookieStorageMirror

    init() throws {
        storage = try .own()
        mirror = CookieStorageMirror(jar: jar, storage: storage)
    }

    /// Runs one sync, and checks that a second one has nothing to do.
    func syncWithoutEcho(_ location: SourceLocation = #_sourceLocation) -> CookieStorageMirror.Report {
        let report = mirror.sync()
        #expect(mirror.sync().isEmpty, "echo", sourceLocation: location)
        return report
    }

    @Test("a cookie of the jar reaches the storage with all attributes that Foundation supports")
    func toStorage() throws {
        try jar.set(
            "sid=1; Domain=a.test; Path=/x; Secure; HttpOnly; SameSite=Lax; Max-Age=600",
            from: "https://www.a.test/"
        )
        #expect(syncWithoutEcho().intoStorage == 1)
        let cookie = try #require(storage.cookie("sid"))
        #expect((cookie.value, cookie.domain, cookie.path) == ("1", ".a.test", "/x"))
        #expect(cookie.isSecure && cookie.isHTTPOnly && !cookie.isSessionOnly)
        #expect(
            cookie.expiresDate.map { CookieTime(secondsSince1970: $0.timeIntervalSince1970) }
                == jar.cookie("sid")?.expires
        )
    }

    @Test("a cookie of the storage reaches the jar")
    func toJar() throws {
        try storage.set("sid=1; Domain=a.test; Path=/x; Secure; HttpOnly", from: "https://www.a.test/")
        #expect(syncWithoutEcho().intoJar == 1)
        let cookie = try #require(jar.cookie("sid"))
        #expect((cookie.value, cookie.domain, cookie.isHostOnly, cookie.path) == ("1", "a.test", false, "/x"))
        #expect(cookie.isSecure && cookie.isHTTPOnly)
    }

    @Test("replacements and deletions travel both ways in each round")
    func story() throws {
        try jar.set("a=1", from: "https://a.test/")
        try storage.set("b=1", from: "https://a.test/")
        #expect(syncWithoutEcho() == report { ($0.intoStorage, $0.intoJar) = (1, 1) })
        try jar.set("b=2", from: "https://a.test/")
        try storage.set("a=2", from: "https://a.test/")
        #expect(syncWithoutEcho() == report { ($0.intoStorage, $0.intoJar) = (1, 1) })
        #expect(jar.pairs == ["a=2", "b=2"] && storage.pairs == ["a=2", "b=2"])
        try jar.set("a=; Max-Age=0", from: "https://a.test/")
        storage.deleteCookie(try #require(storage.cookie("b")))
        #expect(syncWithoutEcho() == report { ($0.outOfStorage, $0.outOfJar) = (1, 1) })
        #expect(jar.pairs == [] && storage.pairs == [])
    }

    @Test("SameSite, which Foundation on Linux cannot hold, stays in the jar when the storage sets a new value")
    func sameSiteStays() throws {
        try jar.set("a=1; SameSite=Strict", from: "https://a.test/")
        mirror.sync()
        try storage.set("a=2", from: "https://a.test/")
        #expect(syncWithoutEcho().intoJar == 1)
        #expect(jar.cookie("a")?.value == "2")
        #expect(jar.cookie("a")?.sameSite == .strict)
    }

    @Test(
        "with beginsFromJar, a cookie deleted from the jar does not return from the storage"
    )
    func beginsFromJar() throws {
        try storage.set("sid=1; Path=/", from: "https://a.test/")
        try storage.set("kept=old", from: "https://a.test/")
        try jar.set("kept=new; Secure; HttpOnly", from: "https://a.test/")
        var configuration = CookieStorageMirror.Configuration()
        configuration.beginsFromJar = true
        let mirror = CookieStorageMirror(jar: jar, storage: storage, configuration: configuration)
        #expect(mirror.sync() == report { ($0.outOfStorage, $0.intoStorage) = (1, 1) })
        #expect(mirror.sync().isEmpty)
        #expect(jar.pairs == ["kept=new"] && storage.pairs == ["kept=new"])
        #expect(jar.cookie("kept")?.isSecure == true && jar.cookie("kept")?.isHTTPOnly == true)
        // After the start, changes of both sides count.
        try storage.set("sid=2; Path=/", from: "https://a.test/")
        #expect(mirror.sync() == report { $0.intoJar = 1 })
    }

    @Test("an interval of any length is accepted without a trap")
    func foreverInterval() async throws {
        var configuration = CookieStorageMirror.Configuration()
        configuration.interval = .seconds(Int64.max)
        let mirror = CookieStorageMirror(jar: jar, storage: storage, configuration: configuration)
        let changes = jar.changes
        try storage.set("a=1", from: "https://a.test/")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            // The mirror reads the storage once at the start, and then waits.
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next() != nil)
            try jar.set("b=1", from: "https://a.test/")
            try await eventually("the storage to follow") { storage.pairs == ["a=1", "b=1"] }
            group.cancelAll()
        }
    }

    @Test("of two changes the newer one wins")
    func newer() throws {
        try jar.set("a=1", from: "https://a.test/")
        try jar.set("b=1", from: "https://a.test/")
        mirror.sync()
        try jar.set("a=jar", from: "https://a.test/")
        try storage.set("a=storage", from: "https://a.test/")
        try storage.set("b=storage", from: "https://a.test/")
        try jar.set("b=jar", from: "https://a.test/")
        _ = syncWithoutEcho()
        #expect(jar.pairs == ["a=storage", "b=jar"] && storage.pairs == ["a=storage", "b=jar"])
    }

    @Test("a replaced cookie counts by the time of the change, although it keeps its creation time")
    func replacedIsNewer() throws {
        try jar.set("a=1", from: "https://a.test/")
        mirror.sync()
        try storage.set("a=storage", from: "https://a.test/")
        try jar.set("a=jar", from: "https://a.test/")
        _ = syncWithoutEcho()
        #expect(storage.pairs == ["a=jar"])
    }

    @Test("a storage that accepts no cookies does not delete any from the jar")
    func acceptPolicy() throws {
        storage.cookieAcceptPolicy = .never
        try jar.set("a=1", from: "https://a.test/")
        #expect(syncWithoutEcho().isEmpty)
        #expect(jar.pairs == ["a=1"] && storage.pairs == [])
    }

    @Test("a cookie that the jar's rules refuse stays in the storage and is reported once")
    func refused() throws {
        let whole = HTTPCookie(properties: [.name: "a", .value: "1", .domain: ".com", .path: "/"])
        storage.setCookie(try #require(whole))
        #expect(syncWithoutEcho().refused == [.publicSuffix])
        #expect(jar.pairs == [] && storage.pairs == ["a=1"])
    }

    @Test("cookies that the storage's new cookie evicts from a full jar stay in the storage")
    func evictedByStorage() throws {
        var bounds = CookieJarConfiguration()
        bounds.maxCookiesPerDomain = 3
        let jar = CookieJar(configuration: bounds)
        let mirror = CookieStorageMirror(jar: jar, storage: storage)
        for number in 0..<3 { try storage.set("a\(number)=1", from: "https://a.test/") }
        mirror.sync()
        try storage.set("a3=1", from: "https://a.test/")
        for _ in 0..<3 { mirror.sync() }
        #expect(jar.pairs.count == 3 && storage.pairs == ["a0=1", "a1=1", "a2=1", "a3=1"])
    }

    @Test("cookies that Foundation cannot hold stay in the jar")
    func noPlace() throws {
        try jar.set("a=1; Secure; Partitioned", from: "https://a.test/")
        try jar.set("nameless", from: "https://a.test/")
        #expect(syncWithoutEcho().isEmpty)
        #expect(storage.pairs == [] && jar.pairs.count == 2)
    }

    @Test("cookies that are not shared stay on their own side")
    func shares() throws {
        var configuration = CookieStorageMirror.Configuration()
        configuration.shares = { !$0.isSecure }
        let mirror = CookieStorageMirror(jar: jar, storage: storage, configuration: configuration)
        try jar.set("a=1; Secure", from: "https://a.test/")
        try jar.set("b=1", from: "https://a.test/")
        #expect(mirror.sync().intoStorage == 1)
        try storage.set("a=2", from: "https://a.test/")
        #expect(mirror.sync().isEmpty)
        #expect(jar.pairs == ["a=1", "b=1"] && storage.pairs == ["a=2", "b=1"])
    }

    #if !canImport(Darwin)
    @Test("Max-Age=0 deletes a cookie, although Foundation on Linux keeps and sends it")
    func maxAgeZero() throws {
        try jar.set("a=1", from: "https://a.test/")
        mirror.sync()
        try storage.set("a=gone; Max-Age=0", from: "https://a.test/")
        #expect(storage.pairs == ["a=gone"])
        #expect(syncWithoutEcho() == report { ($0.outOfJar, $0.outOfStorage) = (1, 1) })
        #expect(jar.pairs == [] && storage.pairs == [])
    }

    @Test("Max-Age of a cookie that URLSession stored applies in the jar")
    func maxAge() throws {
        try storage.set("a=1; Max-Age=600", from: "https://a.test/")
        mirror.sync()
        let left = try #require(jar.cookie("a")?.expires).secondsSince1970 - CookieTime.now.secondsSince1970
        #expect(left > 500 && left <= 600)
    }

    @Test("two cookies with one key in Foundation on Linux do not delete each other in the jar")
    func joinedKeys() throws {
        try jar.set("bc=1; Path=/", from: "https://a.test/")
        mirror.sync()
        // "a.test" + "/" + "bc" equals "a.test" + "/b" + "c", so the storage drops bc.
        try storage.set("c=2; Path=/b", from: "https://a.test/")
        #expect(storage.pairs == ["c=2"])
        #expect(syncWithoutEcho() == report { $0.intoJar = 1 })
        #expect(jar.pairs == ["bc=1", "c=2"])
    }

    @Test("writing two cookies with one key to the storage settles, and the jar keeps both")
    func joinedKeysFromJar() throws {
        try jar.set("bc=1; Path=/", from: "https://a.test/")
        try jar.set("c=2; Path=/b", from: "https://a.test/")
        mirror.sync()
        #expect(mirror.sync().isEmpty)
        #expect(jar.pairs == ["bc=1", "c=2"] && storage.pairs.count == 1)
    }
    #endif

    @Test("a running mirror updates the storage at once and the jar at each interval")
    func runs() async throws {
        let clock = ManualClock()
        let mirror = CookieStorageMirror(jar: jar, storage: storage, clock: clock)
        let changes = jar.changes
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await mirror.run() }
            try await clock.sleepers(atLeast: 1)
            try storage.set("b=1", from: "https://a.test/")
            clock.advance(by: .seconds(1))
            var iterator = changes.makeAsyncIterator()
            guard case .change(let change) = await iterator.next() else { throw NoStorage() }
            #expect(change.cookie.name == "b" && change.source != nil)
            try jar.set("a=1", from: "https://a.test/")
            try await eventually("the storage to follow") { storage.pairs == ["a=1", "b=1"] }
            group.cancelAll()
        }
        #expect(mirror.sync().isEmpty)
    }

    @Test("concurrent writes to both sides lose no deletion and no last value")
    func threads() async throws {
        let names = (0..<4).map { "n\($0)" }
        await withTaskGroup(of: Void.self) { group in
            for name in names {
                group.addTask { [jar, storage] in
                    for number in 0..<100 {
                        if number.isMultiple(of: 2) {
                            try? jar.set("\(name)=\(number)", from: "https://a.test/")
                        } else {
                            try? storage.set("\(name)=\(number)", from: "https://a.test/")
                        }
                    }
                    try? jar.set("\(name)=end", from: "https://a.test/")
                }
                group.addTask { [mirror] in for _ in 0..<100 { mirror.sync() } }
            }
        }
        mirror.sync()
        #expect(jar.pairs == names.map { "\($0)=end" })
        #expect(storage.pairs == jar.pairs)
        #expect(mirror.sync().isEmpty)
    }

    private func report(_ change: (inout CookieStorageMirror.Report) -> Void) -> CookieStorageMirror.Report {
        var report = CookieStorageMirror.Report()
        change(&report)
        return report
    }
}
