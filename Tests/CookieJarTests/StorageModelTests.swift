// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

private let script = CookieContext(api: .dom)
private let cross = CookieContext(site: .cross)
private let navigation = CookieContext(site: .lax)
private let post = CookieContext(site: .lax, isSafeMethod: false)

/// The storage and retrieval models of RFC 6265bis §5.7 and §5.8, as sequences of responses and requests.
struct StorageModelTests {
    static let storyRows: [Story] = [
        Story(
            "name, value and attributes are trimmed; inner spaces stay",
            [
                .set(" a b \t= c d ;  pATH = / ", from: "https://example.com/x/y", .kept),
                .get("https://example.com/", "a b=c d"),
            ]
        ),
        Story(
            "a field without = is a nameless cookie, sent as it came",
            [
                .set("plain", from: "https://example.com/", .kept),
                .get("https://example.com/", "plain"),
                .set("=other", from: "https://example.com/", .replaced),
                .get("https://example.com/", "other"),
                .set("==third", from: "https://example.com/", .replaced),
                .get("https://example.com/", "=third"),
            ]
        ),
        Story(
            "a field without name and value sets no cookie",
            [
                .set("", from: "https://example.com/", .rejected(.empty)),
                .set(" = ; Path=/", from: "https://example.com/", .rejected(.empty)),
            ]
        ),
        Story(
            "quotes are part of the value and do not protect a semicolon",
            [
                .set("a=\"x; y\"", from: "https://example.com/", .kept),
                .get("https://example.com/", "a=\"x"),
            ]
        ),
        Story(
            "control characters refuse the whole field, a tab does not",
            [
                .set("a=b\u{0}c", from: "https://example.com/", .rejected(.controlCharacter)),
                .set("a=b; Path=/\r\nX: y", from: "https://example.com/", .rejected(.controlCharacter)),
                .set("a=b; \u{7f}", from: "https://example.com/", .rejected(.controlCharacter)),
                .set("a=b\tc", from: "https://example.com/", .kept),
                .get("https://example.com/", "a=b\tc"),
            ]
        ),
        Story(
            "4096 octets of name and value fit, one more does not",
            [
                .set("n=" + String(repeating: "v", count: 4095), from: "https://example.com/", .kept),
                .set("m=" + String(repeating: "v", count: 4096), from: "https://example.com/", .rejected(.tooLarge)),
            ]
        ),
        Story(
            "an attribute of more than 1024 octets is ignored",
            [
                .set("a=b; Path=/x; Path=/" + String(repeating: "y", count: 1024), from: "https://example.com/", .kept),
                .get("https://example.com/x", "a=b"),
                .set("c=d; Domain=" + String(repeating: "y", count: 1025), from: "https://example.com/", .kept),
                .set(
                    "e=f; Domain=" + String(repeating: "y.", count: 512),
                    from: "https://example.com/",
                    .rejected(.foreignDomain)
                ),
            ]
        ),
        Story(
            "the last one of a repeated attribute counts",
            [
                .set("a=1; Domain=evil.org; Domain=example.com", from: "https://www.example.com/", .kept),
                .get("https://example.com/", "a=1"),
                .set("b=1; Path=/x; Path=/", from: "https://www.example.com/", .kept),
                .get("https://www.example.com/y", "a=1; b=1"),
            ]
        ),
        Story(
            "Max-Age overrides Expires, and a value of zero or less ends the cookie",
            [
                .set("a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", from: "https://example.com/", .kept),
                .get("https://example.com/", at: 9.999, "a=1"),
                .get("https://example.com/", at: 10, nil),
                .set("b=1", from: "https://example.com/", .kept),
                .set("b=1; Max-Age=-1", from: "https://example.com/", .deleted),
                .get("https://example.com/", at: 11, nil),
            ]
        ),
        Story(
            "a Max-Age that is not a number is ignored",
            [
                .set("a=1; Max-Age=1x", from: "https://example.com/", .kept),
                .set("b=1; Max-Age=", from: "https://example.com/", .kept),
                .set("c=1; Max-Age=-", from: "https://example.com/", .kept),
                .set("d=1; Max-Age=+0", from: "https://example.com/", .kept),
                .get("https://example.com/", at: 1e9, "a=1; b=1; c=1; d=1"),
            ]
        ),
        Story(
            "a cookie lives for 400 days at most, even if Max-Age has many digits",
            [
                .set("a=1; Max-Age=" + String(repeating: "9", count: 1000), from: "https://example.com/", .kept),
                .set("b=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", from: "https://example.com/", .kept),
                .get("https://example.com/", at: 34_559_999, "a=1; b=1"),
                .get("https://example.com/", at: 34_560_000, nil),
            ]
        ),
        Story(
            "deleting needs the domain and the path of the cookie",
            [
                .set("a=1; Domain=example.com; Path=/x", from: "https://www.example.com/x/", .kept),
                .set("a=1; Path=/x; Max-Age=0", from: "https://www.example.com/x/", .deleted),
                .get("https://www.example.com/x", "a=1"),
                .set("a=; Domain=.example.com; Path=/x; Max-Age=0", from: "https://other.example.com/", .deleted),
                .get("https://www.example.com/x", nil),
            ]
        ),
        Story(
            "a replaced cookie keeps its place in the order, and a deleted one loses it",
            [
                .set("a=1", from: "https://example.com/", .kept),
                .set("b=1", from: "https://example.com/", at: 1, .kept),
                .set("a=2", from: "https://example.com/", at: 2, .replaced),
                .get("https://example.com/", at: 3, "a=2; b=1"),
                .set("a=3; Max-Age=0", from: "https://example.com/", at: 4, .deleted),
                .set("a=4", from: "https://example.com/", at: 5, .kept),
                .get("https://example.com/", at: 6, "b=1; a=4"),
            ]
        ),
        Story(
            "a cookie that replaces an expired one is new",
            [
                .set("a=1; Max-Age=5", from: "https://example.com/", .kept),
                .set("b=1", from: "https://example.com/", at: 1, .kept),
                .set("a=2", from: "https://example.com/", at: 5, .kept),
                .get("https://example.com/", at: 6, "b=1; a=2"),
            ]
        ),
        Story(
            "longer paths are sent first, in all domains",
            [
                .set("a=1; Path=/", from: "https://www.example.com/", .kept),
                .set("b=1; Path=/x; Domain=example.com", from: "https://www.example.com/", .kept),
                .set("c=1; Path=/; Domain=example.com", from: "https://www.example.com/", .kept),
                .set("d=1; Path=/x", from: "https://www.example.com/", .kept),
                .get("https://www.example.com/x/y", "b=1; d=1; a=1; c=1"),
            ]
        ),
    ]

    @Test(arguments: storyRows)
    func story(_ story: Story) throws { try story.play() }

    static let scopeRows: [Story] = [
        Story(
            "a cookie without Domain is sent to its host only",
            [
                .set("a=1", from: "https://example.com/", .kept),
                .get("https://www.example.com/", nil),
                .get("https://example.com:8443/", "a=1"),
            ]
        ),
        Story(
            "host-only and domain cookies of one name stand beside each other",
            [
                .set("a=1", from: "https://example.com/", .kept),
                .set("a=2; Domain=example.com", from: "https://example.com/", .kept),
                .get("https://example.com/", "a=1; a=2"),
                .get("https://www.example.com/", "a=2"),
            ]
        ),
        Story(
            "a domain matches whole labels only",
            [
                .set("a=1; Domain=example.com", from: "https://example.com/", .kept),
                .get("https://evil-example.com/", nil),
                .get("https://example.com.evil.org/", nil),
            ]
        ),
        Story(
            "Domain must contain the host",
            [
                .set("a=1; Domain=www.example.com", from: "https://example.com/", .rejected(.foreignDomain)),
                .set("a=1; Domain=other.com", from: "https://example.com/", .rejected(.foreignDomain)),
                .set("a=1; Domain=..example.com", from: "https://example.com/", .rejected(.foreignDomain)),
                .set("a=1; Domain=example.com.", from: "https://example.com/", .rejected(.foreignDomain)),
            ]
        ),
        Story(
            "Domain is compared without case, and an empty one is ignored",
            [
                .set("a=1; Domain=.EXAMPLE.com", from: "https://www.Example.COM/", .kept),
                .get("https://example.com/", "a=1"),
                .set("b=1; Domain=", from: "https://www.example.com/", .kept),
                .get("https://example.com/", "a=1"),
            ]
        ),
        Story(
            "a Domain that is a public suffix is refused, or makes the cookie host-only where it is the host",
            [
                .set("a=1; Domain=com", from: "https://example.com/", .rejected(.publicSuffix)),
                .set("a=1; Domain=github.io", from: "https://me.github.io/", .rejected(.publicSuffix)),
                .set("a=1; Domain=github.io", from: "https://github.io/", .kept),
                .get("https://github.io/", "a=1"),
                .get("https://me.github.io/", nil),
            ]
        ),
        Story(
            "a cookie of an IP address is sent to that address only",
            [
                .set("a=1", from: "http://192.0.2.10/", .kept),
                .set("b=1; Domain=192.0.2.10", from: "http://192.0.2.10/", .kept),
                .set("c=1; Domain=0.2.10", from: "http://192.0.2.10/", .rejected(.foreignDomain)),
                .get("http://192.0.2.10/", "a=1; b=1"),
                .get("http://1.192.0.2.10.example/", nil),
            ]
        ),
        Story(
            "an IPv6 address stands in brackets",
            [
                .set("a=1", from: "http://[2001:db8::1]/", .kept),
                .set("b=1; Domain=[2001:db8::1]", from: "http://[2001:db8::1]:8080/", .kept),
                .set("c=1; Domain=2001:db8::1", from: "http://[2001:db8::1]/", .rejected(.publicSuffix)),
                .get("http://[2001:db8:0::1]/", "a=1; b=1"),
            ]
        ),
        Story(
            "only ASCII can be a Domain or a Path",
            [
                .set(
                    "a=1; Domain=b\u{fc}cher.example",
                    from: "https://xn--bcher-kva.example/",
                    .rejected(.nonASCIIDomain)
                ),
                .set("a=1; Path=/\u{4e2d}", from: "https://example.com/", .rejected(.nonASCIIPath)),
                .set("a=1; Domain=xn--bcher-kva.example", from: "https://www.xn--bcher-kva.example/", .kept),
                .get("https://xn--bcher-kva.example/", "a=1"),
            ]
        ),
        Story(
            "the default path is the folder of the request",
            [
                .set("a=1", from: "https://example.com/x/y/z?q=/1/2", .kept),
                .set("b=1", from: "https://example.com/x", .kept),
                .set("c=1; Path=x", from: "https://example.com/x/y/", .kept),
                .get("https://example.com/x/y", "a=1; c=1; b=1"),
                .get("https://example.com/x/yy", "b=1"),
            ]
        ),
        Story(
            "a default path of 1024 octets fits, one more does not",
            [
                .set("a=1", from: "https://example.com/\(String(repeating: "x", count: 1023))/y", .kept),
                .get("https://example.com/\(String(repeating: "x", count: 1023))/z", "a=1"),
                .set(
                    "b=1",
                    from: "https://example.com/\(String(repeating: "x", count: 1024))/y",
                    .rejected(.pathTooLong)
                ),
                .set("c=1; Path=/", from: "https://example.com/\(String(repeating: "x", count: 1024))/y", .kept),
            ]
        ),
        Story(
            "a domain of 255 octets fits, one more does not; its parent's cookies are sent and stored",
            [
                .set("a=1", from: "https://\(String(repeating: "x", count: 255))/", .kept),
                .get("https://\(String(repeating: "x", count: 255))/", "a=1"),
                .set("b=1", from: "https://\(String(repeating: "x", count: 256))/", .rejected(.domainTooLong)),
                .set(
                    "c=1; Domain=example.com",
                    from: "https://\(String(repeating: "x", count: 256)).example.com/",
                    .kept
                ),
                .get("https://\(String(repeating: "y", count: 256)).example.com/", "c=1"),
            ]
        ),
        Story(
            "a path matches the paths below it",
            [
                .set("a=1; Path=/x", from: "https://example.com/", .kept),
                .set("b=1; Path=/x/", from: "https://example.com/", .kept),
                .get("https://example.com/x", "a=1"),
                .get("https://example.com/x/", "b=1; a=1"),
                .get("https://example.com/xy", nil),
                .get("https://example.com/X", nil),
            ]
        ),
        Story(
            "paths are compared octet by octet",
            [
                .set("a=1; Path=/a%62", from: "https://example.com/", .kept),
                .get("https://example.com/ab", nil),
                .get("https://example.com/a%62/c", "a=1"),
            ]
        ),
    ]

    @Test(arguments: scopeRows)
    func scope(_ story: Story) throws { try story.play() }

    static let securityRows: [Story] = [
        Story(
            "a Secure cookie needs TLS or a loopback host",
            [
                .set("a=1; Secure", from: "http://example.com/", .rejected(.secureFromInsecureOrigin)),
                .set("a=1; Secure", from: "https://example.com/", .kept),
                .get("http://example.com/", nil),
                .get("wss://example.com/", "a=1"),
                .set("b=1; Secure", from: "http://localhost:8080/", .kept),
                .set("b=1; Secure", from: "http://app.localhost/", .kept),
                .set("b=1; Secure", from: "http://127.4.5.6/", .kept),
                .set("b=1; Secure", from: "http://[::1]/", .kept),
                .get("http://app.localhost/", "b=1"),
                .set("b=1; Secure", from: "http://notlocalhost/", .rejected(.secureFromInsecureOrigin)),
            ]
        ),
        Story(
            "a cookie from an insecure connection cannot hide a Secure cookie",
            [
                .set("a=1; Secure; Path=/login", from: "https://www.example.com/", .kept),
                .set("a=2; Path=/login/en", from: "http://www.example.com/", .rejected(.overlaysSecureCookie)),
                .set("a=2; Path=/; Domain=example.com", from: "http://other.example.com/", .kept),
                .set(
                    "a=2; Path=/login; Domain=example.com",
                    from: "http://other.example.com/",
                    .rejected(.overlaysSecureCookie)
                ),
                .set("a=2; Path=/login", from: "http://x.www.example.com/", .rejected(.overlaysSecureCookie)),
                .set("a=2; Path=/login", from: "http://other.example.com/", .kept),
                .set("b=2; Path=/login", from: "http://www.example.com/", .kept),
                .set("a=3; Path=/login", from: "https://www.example.com/", .replaced),
                .set("a=4; Path=/login", from: "http://www.example.com/", .replaced),
            ]
        ),
        Story(
            "a cookie of a parent domain may also be overlaid",
            [
                .set("a=1; Secure; Domain=example.com", from: "https://example.com/", .kept),
                .set("a=2", from: "http://deep.www.example.com/", .rejected(.overlaysSecureCookie)),
            ]
        ),
        Story(
            "a cookie from an insecure connection cannot hide a Secure cookie of the same address",
            [
                .set("a=1; Secure", from: "https://192.0.2.1/", .kept),
                .set("a=1; Secure", from: "https://[2001:db8::1]/", .kept),
                .set("a=2", from: "http://192.0.2.1/", .rejected(.overlaysSecureCookie)),
                .set("a=2", from: "http://[2001:db8::1]/", .rejected(.overlaysSecureCookie)),
                .set("a=2", from: "http://198.51.2.1/", .kept),
            ]
        ),
        Story(
            "scripts cannot read, set or overwrite HttpOnly cookies",
            [
                .set("a=1; HttpOnly", from: "https://example.com/", as: script, .rejected(.httpOnlyFromScript)),
                .set("a=1; HttpOnly", from: "https://example.com/", .kept),
                .get("https://example.com/", as: script, nil),
                .set("a=2", from: "https://example.com/", as: script, .rejected(.overwritesHTTPOnly)),
                .set("a=2; Max-Age=0", from: "https://example.com/", as: script, .rejected(.overwritesHTTPOnly)),
                .get("https://example.com/", "a=1"),
                .set("a=3", from: "https://example.com/", .replaced),
                .get("https://example.com/", as: script, "a=3"),
            ]
        ),
        Story(
            "SameSite says which cross-site requests carry a cookie",
            [
                .set("s=1; SameSite=Strict", from: "https://example.com/", .kept),
                .set("l=1; SameSite=Lax", from: "https://example.com/", .kept),
                .set("d=1; SameSite=unheard-of", from: "https://example.com/", .kept),
                .set("n=1; SameSite=None; Secure", from: "https://example.com/", .kept),
                .get("https://example.com/", "s=1; l=1; d=1; n=1"),
                .get("https://example.com/", as: navigation, "l=1; d=1; n=1"),
                .get("https://example.com/", as: post, "n=1"),
                .get("https://example.com/", as: cross, "n=1"),
            ]
        ),
        Story(
            "a cross-site response may only set SameSite=None cookies, and a navigation may set all",
            [
                .set("a=1", from: "https://example.com/", as: cross, .rejected(.crossSite)),
                .set("a=1; SameSite=Strict", from: "https://example.com/", as: cross, .rejected(.crossSite)),
                .set(
                    "a=1; SameSite=None",
                    from: "https://example.com/",
                    as: cross,
                    .rejected(.sameSiteNoneWithoutSecure)
                ),
                .set("a=1; SameSite=None; Secure", from: "https://example.com/", as: cross, .kept),
                .set("b=1; SameSite=Strict", from: "https://example.com/", as: post, .kept),
            ]
        ),
        Story(
            "the last SameSite counts, unknown or not",
            [
                .set("a=1; SameSite=Strict; SameSite=x", from: "https://example.com/", .kept),
                .get("https://example.com/", as: navigation, "a=1"),
            ]
        ),
    ]

    @Test(arguments: securityRows)
    func security(_ story: Story) throws { try story.play() }

    @Test(arguments: [
        ("__Secure-a=1", "https://example.com/", CookieOutcome.rejected(.securePrefix)),
        ("__SECURE-a=1; Secure; Domain=example.com; Path=/x", "https://example.com/", .kept),
        ("__Host-a=1; Secure", "https://example.com/", .rejected(.hostPrefix)),
        ("__Host-a=1; Secure; Path=", "https://example.com/", .rejected(.hostPrefix)),
        ("__Host-a=1; Secure; Path=/x", "https://example.com/", .rejected(.hostPrefix)),
        ("__Host-a=1; Path=/", "https://example.com/", .rejected(.hostPrefix)),
        ("__hOsT-a=1; Secure; Path=/; Domain=example.com", "https://example.com/", .rejected(.hostPrefix)),
        ("__Host-a=1; Secure; Path=/", "https://example.com/x/y", .kept),
        ("__Host-a=1; Secure; Path=/; Domain=", "https://example.com/x/y", .kept),
        ("__Http-a=1; Secure", "https://example.com/", .rejected(.httpPrefix)),
        ("__Http-a=1; HttpOnly", "https://example.com/", .rejected(.httpPrefix)),
        ("__http-a=1; Secure; HttpOnly; Domain=example.com", "https://example.com/", .kept),
        ("__Host-Http-a=1; Secure; Path=/", "https://example.com/", .rejected(.httpPrefix)),
        ("__Host-Http-a=1; Secure; HttpOnly; Path=/x", "https://example.com/", .rejected(.hostPrefix)),
        ("__Host-Http-a=1; Secure; HttpOnly; Path=/", "https://example.com/", .kept),
        ("=__Secure-a=1", "https://example.com/", .rejected(.hiddenPrefix)),
        ("__HOST-", "https://example.com/", .rejected(.hiddenPrefix)),
        ("=__http-x; Secure; HttpOnly", "https://example.com/", .rejected(.hiddenPrefix)),
        ("__Host=1", "https://example.com/", .kept),
        ("___Host-a=1", "https://example.com/", .kept),
    ])
    func prefixes(_ field: String, _ url: String, _ outcome: CookieOutcome) throws {
        #expect(try CookieJar().set(field, from: url) == outcome, "\(field)")
    }

    @Test func octetsThatAreNotUTF8ComeBackAsTheyCame() throws {
        let jar = CookieJar()
        let field: [UInt8] = Array("a\u{e9}=".utf8) + [0xff, 0x80, 0x3d] + Array("; Path=/".utf8)
        let url = try HTTPURL("https://example.com/")
        let outcome = jar.store(octets: field, from: url, now: noon)
        #expect(outcome == .kept)
        #expect(jar.headerOctets(for: url, now: noon) == Array("a\u{e9}=".utf8) + [0xff, 0x80, 0x3d])
        #expect(jar.cookies(for: url, now: noon).first?.valueOctets == [0xff, 0x80, 0x3d])
    }

    @Test func eachReasonIsSaidInWords() {
        #expect(CookieOutcome.rejected(.publicSuffix).description.hasPrefix("rejected: the Domain attribute"))
        #expect("\([CookieOutcome.kept, .replaced, .deleted])" == "[kept, replaced, deleted]")
    }

    @Test func deploymentsOfRFC6265MaySendSameSiteNoneWithoutSecure() throws {
        var configuration = CookieJarConfiguration()
        configuration.acceptsInsecureSameSiteNone = true
        #expect(
            try CookieJar(configuration: configuration).set("a=1; SameSite=None", from: "http://example.com/") == .kept
        )
    }

    @Test func anAgeThatNoNumberHoldsIsTheLongestLifeWithoutALimitToo() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxAge = .seconds(Int64.max)
        let jar = CookieJar(configuration: configuration)
        for age in ["99999999999999999999", "9223372036854775807", String(repeating: "9", count: 1000)] {
            #expect(try jar.set("a=1; Max-Age=\(age)", from: "https://example.com/") != .deleted)
        }
        #expect(jar.allCookies(now: noon).first?.expires == .distantFuture)
    }
}
