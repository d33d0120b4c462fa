// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineWebDriver

@Suite("Reading a browser's cookies", .timeLimit(.minutes(1)))
struct CookieLookTests {
    /// A browser that shows the cookies that the test sets.
    private final class Session: BrowserSession {
        private struct State {
            var answers: [AsyncStream<ShownCookies>] = []
            var pauses: [Duration] = []
        }

        private let state = NIOLockedValueBox(State())
        private let begin: AsyncStream<Void>.Continuation
        /// An element for each read that has begun.
        let begun: AsyncStream<Void>

        init() { (begun, begin) = AsyncStream.makeStream() }

        /// The requested pauses between two reads.
        var pauses: [Duration] { state.withLockedValue { $0.pauses } }

        /// Answers the next read when the continuation gets a value.
        func next() -> AsyncStream<ShownCookies>.Continuation {
            let (answer, give) = AsyncStream<ShownCookies>.makeStream()
            state.withLockedValue { $0.answers.append(answer) }
            return give
        }

        func show(_ shown: ShownCookies) { next().yield(shown) }

        func cookies() async throws(WebDriverError) -> ShownCookies {
            let answer = state.withLockedValue { $0.answers.isEmpty ? nil : $0.answers.removeFirst() }
            begin.yield()
            guard let answer else { throw WebDriverError(.ended, "the browser has been closed") }
            for await shown in answer { return shown }
            throw WebDriverError(.ended, "the browser has been closed")
        }

        func waitForHint(after pause: Duration, within limit: Duration) async {
            state.withLockedValue { $0.pauses.append(min(pause, limit)) }
        }

        func navigate(to url: String) async throws(WebDriverError) {}
        func evaluate(_ expression: String) async throws(WebDriverError) -> String { "null" }
        func set(_ cookie: Cookie) async throws(WebDriverError) {}
        func delete(_ cookie: Cookie) async throws(WebDriverError) {}
        func kept(of cookie: Cookie) -> Cookie? { cookie }
        func isOpen() async -> Bool { true }
        func end() async {}
    }

    private let session = Session()
    private let snapshots = CookieSnapshots()

    private static func cookie(_ name: String) -> Cookie { Cookie(name, "1", domain: "a.test") }

    private static func shown(_ names: String..., unreadable: [String] = []) -> ShownCookies {
        ShownCookies(names.map(cookie), unreadable: Set(unreadable.map { CookiePlace(cookie($0)) }))
    }

    private func look() async throws -> [String] { try await snapshots.read(from: session).map(\.name).sorted() }

    @Test("a cookie in an unknown form keeps its last state until the browser no longer shows it")
    func unreadable() async throws {
        session.show(Self.shown("a", "b"))
        session.show(Self.shown("a", unreadable: ["b", "new"]))
        session.show(Self.shown("a", unreadable: ["b"]))
        session.show(Self.shown("a"))
        #expect(try await look() == ["a", "b"])
        #expect(try await look() == ["a", "b"])
        #expect(try await look() == ["a", "b"])
        #expect(try await look() == ["a"])
    }

    @Test("a cookie in an unknown form is unreadable, and an error if it has no domain")
    func forms() throws {
        let common: [String: JSONValue] = ["name": "n", "domain": ".a.test", "path": "/"]
        let read = { (changes: [String: JSONValue]) in
            let members = common.merging(changes) { $1 }.filter { $0.value != .null }
            let cookie = try DriverTests.shown(.object(members))
            return try ShownCookies([cookie]) { Cookie(devTools: $0) }
        }
        #expect(try read(["value": "v"]).cookies.count == 1)
        let strange = try read(["value": ["zip": "v"]])
        var wide = Cookie("n", "", domain: "a.test")
        wide.isHostOnly = false
        #expect(strange.cookies.isEmpty && strange.unreadable == [CookiePlace(wide)])
        wide.partition = Site("https://b.test")
        #expect(strange.hides(wide) && !strange.hides(Self.cookie("n")))
        #expect(throws: WebDriverError.self) { try read(["value": ["zip": "v"], "domain": .null]) }
        let opaque = try DriverTests.shown(["value": "v", "partitionKey": ["topLevelSite": "null"]])
        #expect(opaque.hasOpaquePartition)
        let typed = try DriverTests.shown([
            "name": "n", "domain": "a", "path": "/", "value": ["type": "zip", "value": "v"],
        ])
        #expect(Cookie(biDi: typed) == nil)
    }

    @Test("an unreadable cookie of a page does not count as deleted in WebKit")
    func hiddenOnPage() throws {
        let page = try HTTPURL("http://a.test/")
        let known = PageCookies()
        known.saw(Self.shown("a", "b"), on: page)
        known.saw(Self.shown(unreadable: ["b"]), on: page)
        #expect(known.all.map(\.name) == ["b"])
    }

    @Test("a cookie of WebKit that lives longer than a jar allows does not change at each look")
    func longLife() throws {
        var cookie = Self.cookie("a")
        cookie.expires = CookieTime.now.advanced(bySeconds: 1_000 * 86_400)
        let known = PageCookies()
        known.saw(ShownCookies([cookie]), on: try HTTPURL("http://a.test/"))
        #expect(known.all.map(\.expires) == [cookie.expires])
    }

    @Test("a read that began earlier but ends later does not replace a newer one")
    func overlapping() async throws {
        let (slow, quick) = (session.next(), session.next())
        let first = Task { try await snapshots.read(from: session) }
        for await _ in session.begun { break }
        let second = Task { try await snapshots.read(from: session) }
        quick.yield(Self.shown("login"))
        _ = try await second.value
        slow.yield(Self.shown("none"))
        _ = try await first.value
        #expect(snapshots.last?.map(\.name) == ["login"])
    }

    @Test("a read without cookies counts only if the next one has none either, because the browser may be exiting")
    func emptied() async throws {
        let store = WebDriverCookieStore(session, snapshots, interval: .zero)
        session.show(Self.shown("a"))
        session.show(Self.shown())
        #expect(try await store.cookies().map(\.name) == ["a"])
        #expect(try await store.cookies().isEmpty)
        // The browser has closed.
        #expect(try await store.cookies().map(\.name) == ["a"])
        session.show(Self.shown())
        session.show(Self.shown())
        #expect(try await store.cookies().isEmpty)
        #expect(try await store.cookies().isEmpty)
        #expect(try await store.cookies().isEmpty)
    }

    @Test("a cancelled read does not count as a closed browser")
    func cancelled() async throws {
        let store = WebDriverCookieStore(session, snapshots, interval: .zero)
        session.show(Self.shown("a"))
        _ = try await store.cookies()
        var reads = session.begun.makeAsyncIterator()
        _ = await reads.next()
        let pending = session.next()
        let look = Task { try await store.cookies() }
        _ = await reads.next()
        look.cancel()
        await #expect(throws: WebDriverError.self) { try await look.value }
        pending.finish()
    }

    @Test("two reads are at least 100 ms apart, even with an interval of zero")
    func apart() async throws {
        session.show(Self.shown("a"))
        session.show(Self.shown("b"))
        var count = 0
        for await _ in WebDriverCookieStore(session, snapshots, interval: .zero).changes { count += 1 }
        #expect(count == 2)
        #expect(session.pauses == [.milliseconds(100), .milliseconds(100)])
    }
}
