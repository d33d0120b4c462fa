// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import Foundation
import HTTPTypes
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Cookies of sessions with a client")
struct ProtocolCookieTests {
    static func settings(_ truth: CookieStorageMirror.Truth) -> BeelineURLProtocol.Settings {
        var settings = BeelineURLProtocol.Settings()
        settings.truth = truth
        return settings
    }

    /// The cookies of the last request.
    static func sent(_ lab: SessionLab) -> [String: String] { lab.site.requests.last?.cookies ?? [:] }

    @Test(
        "a login survives and is in the storage, whether the jar or the storage is the truth",
        arguments: [
            CookieStorageMirror.Truth.jar, .storage,
        ]
    )
    func login(_ truth: CookieStorageMirror.Truth) async throws {
        let lab = try await SessionLab()
        let session = lab.session(Self.settings(truth))
        _ = try await session.text(URLRequest("POST", try lab.url("/login"), body: "user=ada&password=ada"))
        let (me, _) = try await session.text(try lab.url("/me"))
        #expect(me == "ada\n")
        let cookie = try #require(session.configuration.httpCookieStorage?.cookie("session"))
        #expect(cookie.value == "ada" && cookie.isHTTPOnly && cookie.domain == "a.test")
        #expect(lab.client.jar?.pairs == (truth == .jar ? ["session=ada"] : []))
        await lab.stop()
    }

    @Test(
        "a cookie that the program puts into the session's storage is sent, by the jar's rules",
        arguments: [
            CookieStorageMirror.Truth.jar, .storage,
        ]
    )
    func fromStorage(_ truth: CookieStorageMirror.Truth) async throws {
        let lab = try await SessionLab()
        let session = lab.session(Self.settings(truth))
        let storage = try #require(session.configuration.httpCookieStorage)
        try storage.set("a=1; Path=/", from: "https://a.test/")
        try storage.set("deep=1; Path=/deep", from: "https://a.test/")
        _ = try await session.text(try lab.url("/echo"))
        // Foundation on Linux ignores the path.
        #expect(Self.sent(lab) == ["a": "1"])
        storage.cookies?.forEach(storage.deleteCookie)
        _ = try await session.text(try lab.url("/echo"))
        #expect(Self.sent(lab) == [:])
        await lab.stop()
    }

    @Test("with beginsFromJar, a cookie missing from the jar is not taken from the session's storage")
    func logoutBeforeTheFirstTask() async throws {
        let lab = try await SessionLab()
        var settings = Self.settings(.jar)
        settings.beginsFromJar = true
        let session = lab.session(settings)
        let storage = try #require(session.configuration.httpCookieStorage)
        try storage.set("session=ada; Path=/", from: "https://a.test/")
        let (me, _) = try await session.text(try lab.url("/me"))
        #expect(me == "log in first\n")
        #expect(Self.sent(lab) == [:] && storage.pairs == [] && lab.client.jar?.pairs == [])
        await lab.stop()
    }

    @Test("Set-Cookie fields that crash Foundation's parser are parsed by the jar")
    func hostileFields() async throws {
        let fields = ["=", "a", "", ";", "n=;=", "=;a=b", "a\u{338}x=", "kept=1"]
        let lab = try await SessionLab { request in
            var reply = Reply.text("done\n")
            for field in fields { reply.fields.append(HTTPField(name: .setCookie, value: field)) }
            return reply
        }
        let (text, _) = try await lab.session().text(try lab.url("/"))
        #expect(text == "done\n")
        #expect(lab.client.jar?.cookie("kept")?.value == "1")
        await lab.stop()
    }

    @Test("each hop of a redirect stores and sends the cookies of its own host")
    func perHop() async throws {
        let lab = try await SessionLab()
        let session = lab.session()
        let hop = try lab.url("/set-cookie?value=b%3D2", at: "b.test")
        _ = try await session.text(try lab.url("/set-cookie?value=a%3D1"))
        _ = try await session.text(hop)
        let target = try lab.url("/echo", at: "b.test").absoluteString
        _ = try await session.text(try lab.url("/redirect?to=\(target)"))
        #expect(lab.site.requests.suffix(2).map(\.cookies) == [["a": "1"], ["b": "2"]])
        await lab.stop()
    }

    @Test("the request's own cookies are sent")
    func explicit() async throws {
        let lab = try await SessionLab()
        let session = lab.session()
        _ = try await session.text(try lab.url("/set-cookie?value=b%3D2"))
        lab.client.jar?.store("c=3; Path=/", from: try HTTPURL("https://a.test/"))
        // Foundation on Linux replaces the request's field when the storage has a cookie for the host.
        _ = try await session.text(URLRequest("GET", try lab.url("/echo", at: "b.test"), fields: ["Cookie": "own=1"]))
        #expect(Self.sent(lab) == ["own": "1"])
        await lab.stop()
    }

    @Test("the request's own cookie is sent even if another host has one with the same name and value")
    func explicitAsElsewhere() async throws {
        let lab = try await SessionLab()
        let session = lab.session()
        _ = try await session.text(try lab.url("/set-cookie?value=a%3D1"))
        _ = try await session.text(URLRequest("GET", try lab.url("/echo", at: "b.test"), fields: ["Cookie": "a=1"]))
        #expect(Self.sent(lab) == ["a": "1"])
        await lab.stop()
    }

    @Test("a task made before a cookie changed sends the new value")
    func madeBefore() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let session = lab.session(delegate: recorder)
        _ = try await session.text(try lab.url("/set-cookie?value=sid%3Dold"))
        let early = session.dataTask(with: try lab.url("/echo"))
        _ = try await session.text(try lab.url("/set-cookie?value=sid%3Dnew"))
        early.resume()
        _ = try await recorder.end()
        #expect(Self.sent(lab) == ["sid": "new"])
        await lab.stop()
    }

    @Test("a task made before a logout does not send the old cookie")
    func madeBeforeALogout() async throws {
        let lab = try await SessionLab()
        let recorder = Recorder()
        let session = lab.session(delegate: recorder)
        _ = try await session.text(try lab.url("/set-cookie?value=sid%3D1"))
        let early = session.dataTask(with: try lab.url("/echo"))
        lab.client.jar?.removeAll()
        _ = try await session.text(try lab.url("/status/200"))
        early.resume()
        _ = try await recorder.end()
        #expect(Self.sent(lab) == [:])
        await lab.stop()
    }

    @Test(
        "the cookie settings of session and request are obeyed",
        arguments: [
            ("no storage", true), ("httpShouldHandleCookies", true), ("httpShouldSetCookies", false), ("never", true),
            ("the storage's never", true),
        ]
    )
    func wishes(_ wish: String, _ keepsNone: Bool) async throws {
        let lab = try await SessionLab()
        let jar = try #require(lab.client.jar)
        jar.store("a=1; Path=/", from: try HTTPURL("https://a.test/"))
        let session = lab.session { configuration in
            if wish == "no storage" { configuration.httpCookieStorage = nil }
            if wish == "httpShouldSetCookies" { configuration.httpShouldSetCookies = false }
            if wish == "never" { configuration.httpCookieAcceptPolicy = .never }
            if wish == "the storage's never" { configuration.httpCookieStorage?.cookieAcceptPolicy = .never }
        }
        var request = URLRequest(url: try lab.url("/set-cookie?value=b%3D2"))
        if wish == "httpShouldHandleCookies" { request.httpShouldHandleCookies = false }
        _ = try await session.text(request)
        #expect(Self.sent(lab) == (wish.hasSuffix("never") ? ["a": "1"] : [:]))
        #expect(jar.pairs == (keepsNone ? ["a=1"] : ["a=1", "b=2"]))
        await lab.stop()
    }

    @Test("the cookie policy compares sites", arguments: [("https://a.test/page", ["a=1"]), ("https://c.test/", [])])
    func mainDocument(_ page: String, _ kept: [String]) async throws {
        let lab = try await SessionLab()
        let session = lab.session { $0.httpCookieAcceptPolicy = .onlyFromMainDocumentDomain }
        var request = URLRequest(url: try lab.url("/set-cookie?value=a%3D1"))
        request.mainDocumentURL = try URL(fromTest: page)
        _ = try await session.text(request)
        #expect(lab.client.jar?.pairs == kept)
        await lab.stop()
    }

    @Test("a login survives a change of address")
    func changeOfAddress() async throws {
        let lab = try await SessionLab()
        let session = lab.session()
        _ = try await session.text(URLRequest("POST", try lab.url("/login"), body: "user=ada&password=ada"))
        let other = try await LoopbackOrigin.start(
            addresses: ["127.0.0.2"],
            port: lab.open.port,
            handler: Routes.standard
        )
        try lab.upstream.zone.set("a.test", to: ["127.0.0.2"])
        lab.client.resolver.forgetAll()
        lab.client.retireConnections()
        // The cookie is HttpOnly, host-only and not Secure. It belongs to the name, not to an address or a scheme.
        let (me, _) = try await session.text(try URL(fromTest: "http://a.test:\(other.port)/me"))
        #expect(me == "ada\n")
        #expect(other.requests.count == 1)
        await other.stop()
        await lab.stop()
    }
}
