// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Names

@Suite("Origins and percent-encoding")
struct OriginTests {
    @Test(
        "an origin is serialized for the Origin header (RFC 6454 §6.2)",
        arguments: [
            ("https://H/a", "https://h"), ("https://h:443/", "https://h"), ("http://h:443/", "http://h:443"),
            ("https://[::1]:8443/", "https://[::1]:8443"), ("http://h:7/", "http://h:7"),
            ("http://h:10/", "http://h:10"), ("http://h:9999/", "http://h:9999"), ("http://h:65535/", "http://h:65535"),
            ("https://a-host-of-more-than-fifteen-letters:1000", "https://a-host-of-more-than-fifteen-letters:1000"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ]
    )
    func serialized(url: String, expected: String) throws {
        #expect(try HTTPURL(url).origin.serialized == expected)
    }

    @Test("an octet that must be encoded is found at any position")
    func firstOther() {
        let allowed = PercentEncoding.Allowed.queryOfURL
        for octet in UInt8.min ... .max {
            for place in 0..<20 {
                var octets = [UInt8](repeating: UInt8(ascii: place % 2 == 0 ? "z" : "9"), count: 20)
                octets[place] = octet
                let found = octets.withOctets { allowed.firstOther(in: $0) }
                #expect(found == (allowed.contains(octet) ? octets.count : place), "\(octet) at \(place)")
            }
        }
    }

    @Test("two origins are equal if scheme, host and port are equal")
    func same() throws {
        let origin = try HTTPURL("https://h/a").origin
        for (url, isSame) in [
            ("https://H:443/b?c", true), ("http://h/", false), ("https://h:444/", false), ("https://h./", false),
            ("wss://h/", false),
        ] {
            #expect(try (HTTPURL(url).origin == origin) == isSame, "\(url)")
        }
    }

    @Test("a WebSocket URL has the origin of its opening request")
    func webSocket() throws {
        #expect(try HTTPURL("wss://h/").origin.httpEquivalent == HTTPURL("https://h/").origin)
        #expect(try HTTPURL("ws://h:81/").origin.httpEquivalent == HTTPURL("http://h:81/").origin)
        #expect(try HTTPURL("http://h/").origin.httpEquivalent == HTTPURL("http://h/").origin)
    }

    @Test("a scheme is parsed in any case, and unknown schemes are rejected")
    func scheme() {
        #expect(Scheme("hTTps") == .https)
        #expect(Scheme.allCases.allSatisfy { Scheme($0.name) == $0 })
        for name in ["", "htt", "httpss", "ftp", "http:", "ＨＴＴＰ", "htt\u{10}"] {
            #expect(Scheme(name) == nil, "\(name)")
        }
    }

    @Test("text is percent-encoded by the rules of its component, and decoded")
    func percentEncoding() {
        #expect(PercentEncoding.encode("a b/ü%", keeping: .unreserved) == "a%20b%2F%C3%BC%25")
        #expect(PercentEncoding.encode("/a b?c", keeping: .path) == "/a%20b%3Fc")
        #expect(PercentEncoding.encode("a=b&c#d?", keeping: .query) == "a=b&c%23d?")
        #expect(PercentEncoding.encode("u:p@h", keeping: .userInfo) == "u%3Ap%40h")
        #expect(PercentEncoding.decode("a%20b%2f%C3%bc") == "a b/ü")
        #expect(PercentEncoding.decode("a+b") == "a+b")
        for text in ["%", "%4", "%zz", "%ff", "a%C3"] { #expect(PercentEncoding.decode(text) == nil, "\(text)") }
        #expect(PercentEncoding.octets(of: "%ff%00") == [255, 0])
    }
}
