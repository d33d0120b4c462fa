// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import BeelineURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking

/// Checks which calls reach Foundation and when, with a fake client and queue.
@Suite("Delivery of a response to Foundation")
struct DeliveryTests {
    /// Records its calls.
    private final class Listener: NSObject, URLProtocolClient, Sendable {
        let told = NIOLockedValueBox<[String]>([])

        private func note(_ what: String) { told.withLockedValue { $0.append(what) } }

        func urlProtocol(_: URLProtocol, wasRedirectedTo _: URLRequest, redirectResponse _: URLResponse) {
            note("redirect")
        }
        func urlProtocol(_: URLProtocol, cachedResponseIsValid _: CachedURLResponse) {}
        func urlProtocol(_: URLProtocol, didReceive _: URLAuthenticationChallenge) {}
        func urlProtocol(_: URLProtocol, didCancel _: URLAuthenticationChallenge) {}
        func urlProtocol(_: URLProtocol, didReceive _: URLResponse, cacheStoragePolicy _: URLCache.StoragePolicy) {
            note("head")
        }
        func urlProtocol(_: URLProtocol, didLoad data: Data) { note("\(data.count)") }
        func urlProtocolDidFinishLoading(_: URLProtocol) { note("end") }
        func urlProtocol(_: URLProtocol, didFailWithError error: any Error) { note("\(error)") }
    }

    private let listener = Listener()
    private let posted = NIOLockedValueBox<[@Sendable () -> Void]>([])

    private func delivery() throws -> Delivery {
        let request = URLRequest(url: try URL(fromTest: "https://a.test/"))
        let loader = URLProtocol(request: request, cachedResponse: nil, client: listener)
        return Delivery(loader, delegateQueue: nil) { [posted] block in posted.withLockedValue { $0.append(block) } }
    }

    private var told: [String] { listener.told.withLockedValue { $0 } }

    /// Runs the posted blocks, like Foundation's queue.
    private func work() {
        let blocks = posted.withLockedValue { posted in
            defer { posted = [] }
            return posted
        }
        for block in blocks { block() }
    }

    @Test("blocks posted before a suspension are delivered after it")
    func suspendedMeanwhile() async throws {
        let delivery = try delivery()
        var unread = 0
        await delivery.piece(Data(count: 1), unread: &unread)
        await delivery.piece(Data(count: 2), unread: &unread)
        delivery.suspend()
        work()
        #expect(told.isEmpty)
        delivery.resume()
        await delivery.end(nil)
        work()
        #expect(told == ["1", "2", "end"])
    }

    @Test("a delivery that is closed while it is suspended is released")
    func closedWhileSuspended() async throws {
        var delivery: Delivery? = try delivery()
        weak let released = delivery
        var unread = 0
        await delivery?.piece(Data(count: 1), unread: &unread)
        delivery?.suspend()
        work()
        delivery?.close()
        delivery = nil
        // The blocks that the closing posted find nothing to do.
        work()
        let isReleased = released == nil
        #expect(isReleased && told.isEmpty)
    }

    @Test("a piece that waits for the end of a suspension is delivered before the pieces posted later")
    func order() async throws {
        let delivery = try delivery()
        var unread = 0
        await delivery.piece(Data(count: 1), unread: &unread)
        await delivery.piece(Data(count: 2), unread: &unread)
        await delivery.end(nil)
        // The task is suspended for the first piece and resumed before the others.
        posted.withLockedValue { posted in
            posted.insert({ delivery.suspend() }, at: 0)
            posted.insert({ delivery.resume() }, at: 2)
        }
        work()
        work()
        #expect(told == ["1", "2", "end"])
    }

    @Test("a redirect is followed by its own head and body, for a delegate that refuses it")
    func redirect() async throws {
        let delivery = try delivery()
        let url = try URL(fromTest: "https://a.test/")
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 302, httpVersion: "HTTP/1.1", headerFields: nil)
        )
        var unread = 0
        await delivery.redirect(to: URLRequest(url: url), response, nil)
        await delivery.head(response, nil)
        await delivery.piece(Data(count: 1), unread: &unread)
        await delivery.end(nil)
        work()
        #expect(told == ["redirect", "head", "1", "end"])
    }

    @Test("without a delegate queue, Foundation handles the delivered pieces before more are read")
    func window() async throws {
        let delivery = try delivery()
        let task = Task {
            var unread = 0
            for _ in 0..<4 { await delivery.piece(Data(count: 128 * 1024), unread: &unread) }
        }
        try await eventually("two pieces and a question") { posted.withLockedValue { $0.count } >= 3 }
        #expect(posted.withLockedValue { $0.count } == 3)
        work()
        try await eventually("two more") { posted.withLockedValue { $0.count } >= 3 }
        work()
        await task.value
        #expect(told.count == 4)
    }
}

/// Foundation on Linux may have copied these cookies into tasks that have not started.
@Suite("Cookies removed from a storage")
struct CookieDepartureTests {
    @Test("a cookie that was removed some time ago counts as the program's own in a request")
    func forgottenAfterAWhile() throws {
        let jar = CookieJar()
        try jar.set("a=1", from: "https://a.test/")
        let cookie = try #require(jar.cookie("a"))
        let url = try URL(fromTest: "https://a.test/")
        var departures = CookieDepartures()
        departures.note([CookiePlace(cookie): cookie], now: CookieTime(secondsSince1970: 0))
        departures.note([:], now: CookieTime(secondsSince1970: 1))
        departures.note([:], now: CookieTime(secondsSince1970: 600))
        #expect(departures.pairs(for: url) == ["a=1"])
        departures.note([:], now: CookieTime(secondsSince1970: 602))
        #expect(departures.pairs(for: url) == [])
    }
}
#endif
