// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@Suite("Cookies of a response", .timeLimit(.minutes(1)))
struct ResponseCookieTests {
    private static let handler: LoopbackOrigin.Handler = { request in
        switch request.path {
        case "/login/go":
            .redirect(to: "/login/done").adding(.setCookie, "step=1")
        default:
            .text("in").adding(.setCookie, "sid=7; Domain=a.test; Secure; HttpOnly; Max-Age=60")
                .adding(.setCookie, "theme=dark; SameSite=Lax")
                .adding(.setCookie, "other=1; Domain=b.test")
        }
    }

    @Test("a response lists its cookies and their outcome, separately for each hop")
    func cookies() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        let response = try await lab.client.get(lab.url("a.test", "/login/go"))
        #expect(response.cookies.map(\.cookie.name) == ["sid", "theme"])
        #expect(response.cookies.map(\.outcome) == [.kept, .kept])
        #expect(response.hops.map { $0.cookies.map(\.cookie.name) } == [["step"], ["sid", "theme"]])
        // Fields that are no cookie for this host are listed by name only.
        #expect(response.hop.cookiesReceived.map(\.name) == ["sid", "theme", "other"])

        let sid = try #require(response.cookies.first?.cookie)
        #expect(sid.value == "7" && sid.domain == "a.test" && !sid.isHostOnly && sid.isSecure && sid.isHTTPOnly)
        #expect(sid.path == "/login")
        let age = try #require(sid.expires).secondsSince1970 - sid.created.secondsSince1970
        #expect(abs(age - 60) < 1)
        let theme = response.cookies[1].cookie
        #expect(theme.isHostOnly && theme.domain == "a.test" && theme.expires == nil && theme.sameSite == .lax)
        await lab.stop()
    }

    @Test("a response lists cookies that no jar stores, and the outcome of cookies that a policy rejects")
    func refused() async throws {
        let lab = try await ClientLab(handler: Self.handler)
        var options = RequestOptions()
        options.keepsCookies = false
        let unkept = try await lab.client.get(lab.url("a.test", "/"), options: options)
        #expect(unkept.cookies.map(\.cookie.name) == ["sid", "theme"])
        #expect(unkept.cookies.map(\.outcome) == [nil, nil])
        await lab.stop()

        var policy = CookieJarConfiguration()
        policy.acceptPolicy = .none
        let jar = CookieJar(configuration: policy)
        let other = try await ClientLab(jar: jar, handler: Self.handler)
        let refused = try await other.client.get(other.url("a.test", "/"))
        #expect(refused.cookies.map(\.outcome) == [.rejected(.policy), .rejected(.policy)])
        #expect(jar.allCookies().isEmpty)
        await other.stop()
    }

    @Test("SameSite=None without Secure is listed if the jar accepts it")
    func insecureNone() async throws {
        var lenient = CookieJarConfiguration()
        lenient.acceptsInsecureSameSiteNone = true
        for (jar, names) in [(CookieJar(configuration: lenient), ["old"]), (CookieJar(), [])] {
            let lab = try await ClientLab(jar: jar) { _ in
                .text("").adding(.setCookie, "old=1; SameSite=None")
            }
            #expect(try await lab.client.get(lab.url("a.test", "/")).cookies.map(\.cookie.name) == names)
            await lab.stop()
        }
    }

    @Test("the main document decides at each hop which cookies are sent and stored")
    func mainDocument() async throws {
        var policy = CookieJarConfiguration()
        policy.acceptPolicy = .onlyFromMainDocumentSite
        let lab = try await ClientLab(
            jar: CookieJar(configuration: policy),
            handler: { request in
                guard request.path == "/go" else {
                    return .text("").adding(.setCookie, "own=1; Path=/")
                        .adding(.setCookie, "wide=1; Path=/; Secure; SameSite=None")
                }
                return .redirect(to: "https://\(request.authority?.replacing("b.test", with: "a.test") ?? "")/")
            }
        )
        for host in ["a.test", "b.test"] { _ = try await lab.client.get(lab.url(host, "/")) }
        var options = RequestOptions()
        options.mainDocument = try HTTPURL("https://www.a.test/")
        let foreign = try await lab.client.get(lab.url("b.test", "/"), options: options)
        #expect(foreign.hop.cookiesSent == ["wide"])
        #expect(foreign.cookies.map(\.outcome) == [.rejected(.crossSite), .rejected(.policy)])
        let redirected = try await lab.client.get(lab.url("b.test", "/go"), options: options)
        #expect(redirected.hops.map(\.cookiesSent) == [["wide"], ["own", "wide"]])
        #expect(redirected.cookies.map(\.outcome) == [.replaced, .replaced])
        await lab.stop()
    }
}
