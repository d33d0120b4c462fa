// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import HTTPTypes
import Testing

@testable import BeelineURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Direct requests: the address in the URL")
struct DirectRequestTests {
    static func resolver(_ hosts: String) -> Resolver {
        Resolver(ResolverConfiguration(upstreams: [FixedUpstream(HostsTable(parsing: hosts))], system: nil))
    }

    @Test(
        "only the host of the URL is replaced",
        arguments: [
            ("https://www.a.test/x?y=www.a.test#z", "https://192.0.2.1/x?y=www.a.test#z"),
            ("http://www.a.test:8080/", "http://192.0.2.1:8080/"),
            ("http://user:pw@www.a.test:8080?q", "http://user:pw@192.0.2.1:8080?q"),
            ("http://WWW.A.TEST", "http://192.0.2.1"),
            ("https://www.a.test/a%2Fb/%E4?x=%20", "https://192.0.2.1/a%2Fb/%E4?x=%20"),
        ]
    )
    func url(_ original: String, _ replaced: String) async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let direct = try await URLRequest(url: try URL(fromTest: original)).direct(
            via: resolver,
            cookies: HTTPDNSCookieManager()
        )
        #expect(direct.request.url?.absoluteString == replaced)
        #expect(direct.original.url?.absoluteString == original)
        await resolver.shutDown()
    }

    @Test("an IPv6 address is written in brackets, followed by the port")
    func v6() async throws {
        let resolver = Self.resolver("2001:db8::1 www.a.test")
        let request = URLRequest(url: try URL(fromTest: "http://www.a.test:8080/x"))
        let direct = try await request.direct(via: resolver, cookies: HTTPDNSCookieManager())
        #expect(direct.request.url?.absoluteString == "http://[2001:db8::1]:8080/x")
        #expect(direct.request.value(forHTTPHeaderField: "Host") == "www.a.test:8080")
        await resolver.shutDown()
    }

    @Test("localhost, whose addresses no upstream returns, has a direct request")
    func localhost() async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let request = URLRequest(url: try URL(fromTest: "http://localhost:8080/x"))
        let direct = try await request.direct(via: resolver, cookies: HTTPDNSCookieManager())
        let expected: Set = ["http://[::1]:8080/x", "http://127.0.0.1:8080/x"]
        #expect(expected.contains(direct.request.url?.absoluteString ?? ""))
        #expect(direct.request.value(forHTTPHeaderField: "Host") == "localhost:8080")
        await resolver.shutDown()
    }

    @Test("Host, method, body, additional fields and cookies are part of the direct request")
    func parts() async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let cookies = HTTPDNSCookieManager()
        let url = try URL(fromTest: "https://www.a.test/login")
        cookies.handle(headerFields: ["Set-Cookie": "sid=1, theme=light"], for: url)
        let request = URLRequest("POST", url, body: "body", fields: ["Cookie": "theme=dark", "X-Own": "1"])
        let direct = try await request.direct(via: resolver, cookies: cookies, fields: ["X-Gateway": "2"])
        #expect(direct.request.httpMethod == "POST" && direct.request.httpBody == Data("body".utf8))
        #expect(direct.request.allHTTPHeaderFields?["Host"] == "www.a.test")
        #expect(direct.request.allHTTPHeaderFields?["X-Own"] == "1")
        #expect(direct.request.allHTTPHeaderFields?["X-Gateway"] == "2")
        #expect(direct.request.value(forHTTPHeaderField: "Cookie") == "sid=1; theme=dark")
        #expect(!direct.request.httpShouldHandleCookies)
        #expect(direct.host.text == "www.a.test" && direct.address.description == "192.0.2.1")
        await resolver.shutDown()
    }

    @Test("fields that contain the address get the name, and so do configured fields and a query parameter")
    func form() async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let url = try URL(fromTest: "http://www.a.test:8080/x?q=%20&host=other#host")
        let fields = [
            "Referer": "http://192.0.2.1:8080/from?a=b", "Origin": "http://192.0.2.1:8080",
            "X-Link": "http://192.0.2.1:8080/",
            "X-Online-Host": "192.0.2.1",
        ]
        var form = DirectForm()
        form.linkFields.append(try #require(HTTPField.Name("X-Link")))
        form.hostFields = [try #require(HTTPField.Name("X-Online-Host"))]
        form.queryParameter = "host"
        let direct = try await URLRequest("GET", url, fields: fields)
            .direct(via: resolver, form: form, cookies: HTTPDNSCookieManager())
        #expect(direct.request.url?.absoluteString == "http://192.0.2.1:8080/x?q=%20&host=www.a.test#host")
        #expect(direct.request.value(forHTTPHeaderField: "Referer") == "http://www.a.test:8080/from?a=b")
        #expect(direct.request.value(forHTTPHeaderField: "Origin") == "http://www.a.test:8080")
        #expect(direct.request.value(forHTTPHeaderField: "X-Link") == "http://www.a.test:8080/")
        #expect(direct.request.value(forHTTPHeaderField: "X-Online-Host") == "www.a.test:8080")
        await resolver.shutDown()
    }

    @Test("on an IPv6-only network, an IPv4 address in the URL becomes its NAT64 address")
    func translated() async throws {
        let system = FixedUpstream(HostsTable(parsing: "64:ff9b::c000:aa ipv4only.arpa"))
        let resolver = Resolver(ResolverConfiguration(upstreams: [], system: system))
        await resolver.networkChanged(to: Network(id: "v6", families: .v6))
        let request = URLRequest(url: try URL(fromTest: "http://192.0.2.33:8080/x"))
        let direct = try await request.direct(via: resolver, cookies: HTTPDNSCookieManager())
        #expect(direct.request.url?.absoluteString == "http://[64:ff9b::c000:221]:8080/x")
        #expect(direct.request.value(forHTTPHeaderField: "Host") == "192.0.2.33:8080")
        await resolver.shutDown()
    }

    @Test("a request that disables cookies gets none")
    func noCookies() async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let cookies = HTTPDNSCookieManager()
        let url = try URL(fromTest: "https://www.a.test/")
        cookies.handle(headerFields: ["Set-Cookie": "sid=1"], for: url)
        var request = URLRequest(url: url)
        request.httpShouldHandleCookies = false
        let direct = try await request.direct(via: resolver, cookies: cookies)
        #expect(direct.request.value(forHTTPHeaderField: "Cookie") == nil)
        await resolver.shutDown()
    }

    @Test("an address of several hosts is refused, and the error lists them")
    func shared() async throws {
        let resolver = Self.resolver("192.0.2.1 a.test\n192.0.2.1 b.test")
        _ = try await resolver.resolve(try Names.Host("b.test"))
        let request = URLRequest(url: try URL(fromTest: "https://a.test/"))
        let error = await #expect(throws: BeelineError.self) { try await request.direct(via: resolver) }
        #expect(error?.code == .addressShared)
        #expect(error?.message.contains("b.test, a.test") == true)
        await resolver.shutDown()
    }

    @Test("with URLSession, the host's cookies are sent and stored, whatever the session does with the address")
    func session() async throws {
        let origin = try await LoopbackOrigin.start(handler: Routes.standard)
        let resolver = Self.resolver("127.0.0.1 www.a.test")
        let cookies = HTTPDNSCookieManager()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        let session = URLSession(configuration: configuration)
        let base = "http://www.a.test:\(origin.port)"
        let login = try await URLRequest("POST", try URL(fromTest: base + "/login"), body: "user=ada&password=ada")
            .direct(via: resolver, cookies: cookies)
        let (_, response) = try await session.data(for: login.request)
        #expect(login.receive(response).map(\.domain) == ["www.a.test"])
        let me = try await URLRequest(url: try URL(fromTest: base + "/me")).direct(via: resolver, cookies: cookies)
        #expect(try await session.text(me.request).0 == "ada\n")
        #expect(origin.requests.map(\.authority) == ["www.a.test:\(origin.port)", "www.a.test:\(origin.port)"])
        await resolver.shutDown()
        await origin.stop()
    }

    @Test(
        "after a redirect, cookies are stored for the host of the response",
        arguments: [
            ("http://192.0.2.1/x", ["www.a.test /"]),
            ("http://192.0.2.1/deep/y", ["www.a.test /deep"]),
            ("http://b.test/deep/y", ["b.test /deep"]),
            ("http://192.0.2.9/x", []),
        ]
    )
    func redirected(_ url: String, _ kept: [String]) async throws {
        let resolver = Self.resolver("192.0.2.1 www.a.test")
        let cookies = HTTPDNSCookieManager()
        let request = URLRequest(url: try URL(fromTest: "http://www.a.test/x"))
        let direct = try await request.direct(via: resolver, cookies: cookies)
        let response = try #require(
            HTTPURLResponse(
                url: try URL(fromTest: url),
                statusCode: 200,
                httpVersion: nil,
                headerFields: ["Set-Cookie": "sid=1"]
            )
        )
        #expect(direct.receive(response).map(\.domain) == kept.map { String($0.prefix { $0 != " " }) })
        #expect(cookies.jar.allCookies().map { "\($0.domain) \($0.path)" } == kept)
        await resolver.shutDown()
    }

    @Test("the host of a protection space is the host that its address was resolved for")
    func protectionSpace() async throws {
        let resolver = Self.resolver("192.0.2.1 a.test\n192.0.2.2 b.test\n192.0.2.2 c.test")
        for name in ["a.test", "b.test", "c.test"] { _ = try await resolver.resolve(try Names.Host(name)) }
        func host(_ text: String) throws -> String {
            let space = URLProtectionSpace(
                host: text,
                port: 443,
                protocol: "https",
                realm: nil,
                authenticationMethod: nil
            )
            return try resolver.host(for: space).text
        }
        #expect(try host("192.0.2.1") == "a.test")
        #expect(try host("www.z.test") == "www.z.test")
        #expect(throws: BeelineError.self) { try host("192.0.2.2") }
        #expect(throws: BeelineError.self) { try host("192.0.2.3") }
        await resolver.shutDown()
    }
}
