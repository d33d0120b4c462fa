// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import Testing

@testable import BeelineURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("ClientBinding: a client and its session settings")
struct ClientBindingTests {
    private static func client(jar: CookieJar) throws -> BeelineClient {
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        return try BeelineClient(configuration, jar: jar)
    }

    @Test(
        "by default, the storage starts as a copy of the jar only if it is shared and the jar was restored",
        arguments: [
            (isRestored: true, isShared: true, setting: nil as Bool?, expected: true), (true, false, nil, false),
            (false, true, nil, false), (true, true, false, false), (false, false, true, true),
        ]
    )
    func beginsFromJar(_ isRestored: Bool, _ isShared: Bool, _ setting: Bool?, _ expected: Bool) async throws {
        let jar = CookieJar()
        if isRestored { jar.markRestored() }
        let client = try Self.client(jar: jar)
        var settings = BeelineURLProtocol.Settings()
        settings.truth = .jar
        settings.beginsFromJar = setting
        let binding = ClientBinding(client, settings: settings, configuration: nil)
        let mirror = binding.mirror(of: isShared ? .shared : try .own())
        #expect(mirror.jar === jar && mirror.configuration.beginsFromJar == expected)
        await client.shutDown()
    }

    @Test("a session cookie set before the first request is kept, unless the settings say otherwise")
    func sessionCookieBeforeTheFirstRequest() async throws {
        let jar = CookieJar()
        jar.markRestored()
        let client = try Self.client(jar: jar)
        var settings = BeelineURLProtocol.Settings()
        settings.truth = .jar
        #expect(
            ClientBinding(client, settings: settings, configuration: nil).mirror(of: .shared).configuration
                .keepsSessionCookies
        )
        settings.beginsFromJar = true
        #expect(
            !ClientBinding(client, settings: settings, configuration: nil).mirror(of: .shared).configuration
                .keepsSessionCookies
        )
        await client.shutDown()

        let storage = try HTTPCookieStorage.own()
        var mirroring = CookieStorageMirror.Configuration()
        (mirroring.beginsFromJar, mirroring.keepsSessionCookies) = (true, true)
        try storage.set("new=1; Path=/", from: "https://a.test/")
        try storage.set("old=1; Path=/; Max-Age=600", from: "https://a.test/")
        CookieStorageMirror(jar: jar, storage: storage, configuration: mirroring).sync()
        #expect(jar.pairs == ["new=1"] && storage.pairs == ["new=1"])
    }

    #if canImport(FoundationNetworking)
    @Test("only the shared storage has a record, and only if a store persists the jar")
    func record() async throws {
        for isKept in [true, false] {
            let jar = CookieJar()
            if isKept { jar.markKept() }
            let client = try Self.client(jar: jar)
            var settings = BeelineURLProtocol.Settings()
            settings.truth = .jar
            let mirror = ClientBinding(client, settings: settings, configuration: nil).mirror(of: .shared)
            #expect((mirror.configuration.record != nil) == isKept)
            #expect(
                ClientBinding(client, settings: settings, configuration: nil).mirror(of: try .own()).configuration
                    .record == nil
            )
            await client.shutDown()
        }
    }

    @Test("a record in UserDefaults is read as it was written")
    func recordInDefaults() throws {
        let suite = "beeline-\(UUID().uuidString)"
        let record = MirrorRecord.inDefaults(suite)
        defer { UserDefaults(suiteName: suite)?.removePersistentDomain(forName: suite) }
        #expect(record.load() == nil)
        for keys: Set<UInt64> in [[0, 1, .max, 0x0123_4567_89ab_cdef], []] {
            record.save(keys)
            #expect(MirrorRecord.inDefaults(suite).load() == keys)
        }
    }
    #endif

    @Test("persistent cookies set before the first request are kept, and cookies deleted from the jar are not")
    func lastingCookieBeforeTheFirstRequest() throws {
        let saved = NIOLockedValueBox<Set<UInt64>?>(nil)
        var configuration = CookieStorageMirror.Configuration()
        (configuration.truth, configuration.beginsFromJar, configuration.keepsSessionCookies) = (.jar, true, true)
        configuration.record = MirrorRecord {
            saved.withLockedValue { $0 }
        } save: { keys in
            saved.withLockedValue { $0 = keys }
        }
        let storage = try HTTPCookieStorage.own()
        let first = CookieJar()
        for name in ["old", "changed", "kept"] { try first.set("\(name)=1; Max-Age=600", from: "https://a.test/") }
        CookieStorageMirror(jar: first, storage: storage, configuration: configuration).sync()
        #expect(storage.pairs == ["changed=1", "kept=1", "old=1"])

        // The next start: another program has deleted two cookies from the jar's file, and this one logs in again.
        let second = CookieJar()
        second.insert(first.allCookies().filter { $0.name == "kept" })
        second.markRestored()
        try storage.set("new=1; Path=/; Max-Age=600", from: "https://a.test/")
        try storage.set("changed=2; Path=/; Max-Age=600", from: "https://a.test/")
        CookieStorageMirror(jar: second, storage: storage, configuration: configuration).sync()
        #expect(second.pairs == ["changed=2", "kept=1", "new=1"] && storage.pairs == second.pairs)
        #expect(saved.withLockedValue { $0?.count } == 3)
    }

    @Test("many header fields are joined in linear time")
    func manyFields() throws {
        var head = HTTPResponse(status: .ok)
        let names = try (0..<20_000).map { try #require(HTTPField.Name("x-\($0)")) }
        for name in names { head.headerFields.append(HTTPField(name: name, value: "1")) }
        let cookie = try #require(HTTPField.Name("SET-Cookie"))
        for number in 0..<20_000 {
            head.headerFields.append(HTTPField(name: number == 0 ? cookie : .setCookie, value: "a=\(number)"))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let response = try #require(
            HTTPURLResponse.make(head, for: try URL(fromTest: "https://a.test/"), applicationProtocol: "h2")
        )
        // Quadratic time would take minutes.
        #expect(start.duration(to: clock.now) < .seconds(20))
        let cookies = try #require(response.value(forHTTPHeaderField: "set-cookie"))
        #expect(cookies.hasPrefix("a=0, a=1, ") && cookies.hasSuffix(", a=19999"))
        #expect(response.value(forHTTPHeaderField: "x-19999") == "1")
    }

    #if canImport(FoundationNetworking)
    @Test("a challenge starts with the empty element that Foundation needs, in any letter case of the field")
    func challenge() throws {
        let name = try #require(HTTPField.Name("www-AUTHENTICATE"))
        let head = HTTPResponse(status: .unauthorized, headerFields: [name: "Basic realm=x"])
        let response = HTTPURLResponse.make(head, for: try URL(fromTest: "https://a.test/"), applicationProtocol: "h2")
        #expect(response?.value(forHTTPHeaderField: "WWW-Authenticate") == ", Basic realm=x")
    }
    #endif
}
