// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import NIOConcurrencyHelpers
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The cache of a session with a client")
struct SessionCacheTests {
    /// A cache that counts how often Foundation asks it.
    ///
    /// `@unchecked Sendable` like its superclass: a lock guards the count.
    final class CountingCache: URLCache, @unchecked Sendable {
        let questions = NIOLockedValueBox(0)

        override func getCachedResponse(
            for dataTask: URLSessionDataTask,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            questions.withLockedValue { $0 += 1 }
            super.getCachedResponse(for: dataTask, completionHandler: completionHandler)
        }
    }

    let cache = CountingCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)

    func session(of lab: SessionLab, _ settings: BeelineURLProtocol.Settings = .init()) -> URLSession {
        let base = URLSessionConfiguration.ephemeral
        base.urlCache = cache
        return URLSession(configuration: .beeline(lab.client, settings: settings, base: base))
    }

    static func cached(_ text: String, for url: URL) throws -> CachedURLResponse {
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
        return CachedURLResponse(response: try #require(response), data: Data(text.utf8))
    }

    @Test(
        "a cached response is used only if the request's policy asks for it",
        arguments: [
            (URLRequest.CachePolicy.useProtocolCachePolicy, "GET 0"), (.reloadIgnoringLocalCacheData, "GET 0"),
            (.returnCacheDataElseLoad, "cached"), (.returnCacheDataDontLoad, "cached"),
        ]
    )
    func policies(_ policy: URLRequest.CachePolicy, _ expected: String) async throws {
        let lab = try await SessionLab { .text("\($0.method) \($0.bodySize)") }
        let session = session(of: lab)
        var request = URLRequest(url: try lab.url("/one"))
        request.cachePolicy = policy
        let cached = try Self.cached("cached", for: lab.url("/one"))
        session.configuration.urlCache?.storeCachedResponse(cached, for: request)
        #expect(try await session.text(request).0 == expected)
        request.url = try lab.url("/another")
        if policy == .returnCacheDataDontLoad {
            let request = request
            let error = await #expect(throws: URLError.self) { try await session.text(request) }
            #expect(error?.code == .resourceUnavailable)
        } else {
            #expect(try await session.text(request).0 == "GET 0")
        }
        await lab.stop()
    }

    #if !canImport(Darwin)
    @Test("Foundation, which asks a cache on a background thread, does not ask it about the client's requests")
    func spared() async throws {
        let lab = try await SessionLab()
        var settings = BeelineURLProtocol.Settings()
        settings.hosts = ["a.test"]
        let session = session(of: lab, settings)
        _ = try await session.text(try lab.url("/echo"))
        #expect(cache.questions.withLockedValue { $0 } == 0)
        _ = try await session.text(try lab.openURL("/echo"))
        #expect(cache.questions.withLockedValue { $0 } == 1, "the request that Foundation handles")
        var request = URLRequest(url: try lab.url("/echo"))
        request.cachePolicy = .returnCacheDataElseLoad
        _ = try await session.text(request)
        #expect(cache.questions.withLockedValue { $0 } == 2)
        await lab.stop()
    }

    @Test("requests still work when the cache is set later, and Foundation asks that cache")
    func setLater() async throws {
        let lab = try await SessionLab()
        let session = lab.session { $0.urlCache = cache }
        #expect(try await session.text(try lab.url("/chunked/3")).0.hasSuffix("chunk 3\n"))
        let recorder = Recorder()
        lab.session(delegate: recorder) { $0.urlCache = cache }.dataTask(with: try lab.url("/chunked/3")).resume()
        #expect(String(decoding: try await recorder.end().body, as: UTF8.self).hasSuffix("chunk 3\n"))
        #expect(cache.questions.withLockedValue { $0 } == 2)
        await lab.stop()
    }

    @Test("the session's cache has the content of the configuration's cache")
    func same() async throws {
        let lab = try await SessionLab()
        let found = try #require(session(of: lab).configuration.urlCache)
        let request = URLRequest(url: try lab.url("/one"))
        found.storeCachedResponse(try Self.cached("one", for: lab.url("/one")), for: request)
        #expect(cache.cachedResponse(for: request)?.data == Data("one".utf8))
        #expect(found.cachedResponse(for: request)?.data == Data("one".utf8))
        #expect(found.memoryCapacity == 1 << 20 && found.diskCapacity == 0)
        #expect(found.currentMemoryUsage == cache.currentMemoryUsage)
        found.removeCachedResponse(for: request)
        #expect(cache.cachedResponse(for: request) == nil)
        found.storeCachedResponse(try Self.cached("two", for: lab.url("/one")), for: request)
        found.removeAllCachedResponses()
        #expect(cache.cachedResponse(for: request) == nil)
        found.memoryCapacity = 1 << 10
        #expect(cache.memoryCapacity == 1 << 10)
        let without = URLSessionConfiguration.ephemeral
        without.urlCache = nil
        #expect(URLSessionConfiguration.beeline(lab.client, base: without).urlCache == nil)
        await lab.stop()
    }
    #endif
}
