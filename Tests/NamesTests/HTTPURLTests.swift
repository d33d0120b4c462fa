// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("URLs")
struct HTTPURLTests {
    @Test(
        "a URL is printed in its canonical form",
        arguments: [
            ("http://example.com", "http://example.com/", "the path is at least a slash"),
            ("HTTPS://EXAMPLE.com:443/A", "https://example.com/A", "scheme and host fold, the scheme's port goes"),
            ("http://example.com:/", "http://example.com/", "an empty port is the scheme's own"),
            ("http://example.com:00080/", "http://example.com/", "zeros before a port mean nothing"),
            ("https://example.com:80/", "https://example.com:80/", "another port stays"),
            ("wss://example.com?x", "wss://example.com/?x", "the query may follow the host"),
            ("ws://example.com:80#x", "ws://example.com/#x", "and so may the fragment"),
            ("http://h/a?", "http://h/a?", "an empty query is one"),
            ("http://h/a#", "http://h/a#", "and so is an empty fragment"),
            ("http://h/a?b?c#d#e?f", "http://h/a?b?c#d#e?f", "only the first mark of a part counts"),
            ("http://h/a/./b/../c", "http://h/a/c", "dot segments go (RFC 3986 §5.2.4)"),
            ("http://h/../../a", "http://h/a", "also where they lead above the root"),
            ("http://h/a/..", "http://h/", "the last one leaves a slash"),
            ("http://h/a/.", "http://h/a/", "and so does the other"),
            ("http://h/a/%2e%2E/b/%2E", "http://h/b/", "%2e is a dot here"),
            ("http://h/a/.../b", "http://h/a/.../b", "three dots are a name"),
            ("http://h//a//", "http://h//a//", "empty segments stay"),
            ("http://h/a//../b", "http://h/a/b", "and count as segments"),
            ("http://h/%7e%41%2f%zz%", "http://h/%7e%41%2f%zz%", "octets that are encoded stay as they are"),
            ("http://h/ü/中?é#ñ", "http://h/%C3%BC/%E4%B8%AD?%C3%A9#%C3%B1", "what is not ASCII is encoded as UTF-8"),
            ("http://h/\"<>`{}?\"<>'", "http://h/%22%3C%3E%60%7B%7D?%22%3C%3E%27", "as is what browsers encode"),
            ("http://h/[a]|b?{c}|\\d", "http://h/[a]|b?{c}|\\d", "and what they do not encode stays"),
            ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/", "an IPv6 host keeps its brackets"),
            ("http://0x7f.1:81/", "http://127.0.0.1:81/", "an IPv4 host is canonical"),
            ("https://Bücher.example./", "https://xn--bcher-kva.example./", "and so is a domain"),
        ]
    )
    func canonicalForm(text: String, expected: String, _: String) throws {
        let url = try HTTPURL(text)
        #expect(url.description == expected)
        #expect(try HTTPURL(expected) == url)
    }

    @Test("a URL is split into its parts")
    func parts() throws {
        let url = try HTTPURL("https://us%40er:p%3Ass@example.com:8443/a/b?q=1#top")
        #expect(url.origin == Origin(scheme: .https, host: try Host("example.com"), port: 8443))
        #expect(url.user == "us@er")
        #expect(url.password == "p:ss")
        #expect(url.path == "/a/b")
        #expect(url.query == "q=1")
        #expect(url.fragment == "top")
        #expect(url.target == "/a/b?q=1")
        #expect(url.description == "https://example.com:8443/a/b?q=1#top")
        #expect(url.textWithUser == "https://us%40er:p%3Ass@example.com:8443/a/b?q=1#top")
    }

    @Test(
        "user and password are the decoded text before the last @",
        arguments: [
            ("http://u@h/", "u", nil), ("http://u:@h/", "u", ""), ("http://:p@h/", "", "p"), ("http://@h/", nil, nil),
            ("http://a@b@h/", "a@b", nil), ("http://u:p:q@h/", "u", "p:q"), ("http://u%zz:%4@h/", "u%zz", "%4"),
            ("http://%C3%BC:é@h/", "ü", "é"),
        ] as [(String, String?, String?)]
    )
    func userInfo(text: String, user: String?, password: String?) throws {
        let url = try HTTPURL(text)
        #expect(url.host.text == "h")
        #expect(url.user == user)
        #expect(url.password == password)
        #expect(try HTTPURL(url.textWithUser) == url)
    }

    @Test(
        "an invalid URL is rejected, and the error names the part and the remedy",
        arguments: [
            ("", NameError.Code.malformedURL, "scheme is missing"),
            ("example.com/a", .malformedURL, "scheme is missing"), ("//h/a", .malformedURL, "scheme is missing"),
            ("/a", .malformedURL, "scheme is missing"), ("1http://h", .malformedURL, "scheme is missing"),
            ("localhost:8080/a", .unsupportedScheme, "http, https, ws or wss"),
            ("ftp://h/", .unsupportedScheme, "ftp"), ("file:///etc/passwd", .unsupportedScheme, "file"),
            ("javascript:alert(1)", .unsupportedScheme, "javascript"), ("httpsx://h", .unsupportedScheme, "httpsx"),
            ("http:/h", .malformedURL, "// is missing"), ("http:h", .malformedURL, "// is missing"),
            ("http://", .malformedHost, "host is missing"), ("http:///a", .malformedHost, "host is missing"),
            ("http://:80/", .malformedHost, "host is missing"), ("http://u@/", .malformedHost, "host is missing"),
            ("http://h:0/", .malformedPort, "port"), ("http://h:65536/", .malformedPort, "port"),
            ("http://h:+80/", .malformedPort, "port"), ("http://h:-1/", .malformedPort, "port"),
            ("http://h:80a/", .malformedPort, "port"), ("http://h:8\u{0660}/", .malformedPort, "port"),
            ("http://[::1/", .malformedHost, "] is missing"), ("http://::1/", .malformedHost, "brackets"),
            ("http://h:80:80/", .malformedHost, "brackets"), ("http://[::2%25eth0]/", .malformedHost, "zone"),
            ("http://a b/", .malformedURL, "%20"), ("http://h/a b", .malformedURL, "%20"),
            (" http://h/", .malformedURL, "%20"), ("http://h/ ", .malformedURL, "%20"),
            ("http://h/a\nb", .malformedURL, "LF"), ("http://h/a\rb", .malformedURL, "CR"),
            ("http://h/\r\nHost: evil", .malformedURL, "CR"), ("http://h/a\0b", .malformedURL, "NUL"),
            ("http://h/a\tb", .malformedURL, "a tab"), ("http://h/a\u{7f}", .malformedURL, "0x7f"),
            ("http://h/?a\u{1b}[0m", .malformedURL, "0x1b"), ("http://good.example\\@h/", .malformedURL, "backslash"),
            ("http://h\\a", .malformedURL, "backslash"), ("http://u%0d%0a@h/", .malformedURL, "user"),
            ("http://u:%ff@h/", .malformedURL, "password"), ("http://u:%ff@h/", .malformedURL, "password"),
        ]
    )
    func refused(text: String, code: NameError.Code, reason: String) {
        let error = #expect(throws: NameError.self) { try HTTPURL(text) }
        #expect(error?.code == code)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
    }

    @Test(
        "no error contains a password, wherever the password stands in the URL",
        arguments: [
            "http://user:secret@h:0/", "http://user:secret@h/ ", "http://user:secret@/", "user:secret@h/",
            "http:/user:secret@h/", "http:user:secret@h/", "http://user:secret/word@h/", "http://user:secret?@h/",
            "http://user:secret%ff@h/", "http://user:sec ret@h/secret", "ftp://user:secret@h/",
            "http://secret@a:b@h:x/",
        ]
    )
    func passwordsAreHidden(text: String) {
        let error = #expect(throws: NameError.self) { try HTTPURL(text) }
        #expect(error?.message.contains("secret") == text.hasSuffix("/secret"), "\(error?.message ?? "")")
    }

    @Test("a URL longer than 64 KiB is rejected")
    func length() throws {
        let longest = "http://h/" + String(repeating: "a", count: HTTPURL.maxLength - 9)
        #expect(try HTTPURL(longest).path.utf8.count == HTTPURL.maxLength - 8)
        let error = #expect(throws: NameError.self) { try HTTPURL(longest + "a") }
        // A reference within the limit that becomes longer behind its base, or by percent-encoding.
        let base = try HTTPURL("http://h/" + String(repeating: "a/", count: 30_000))
        for reference in [String(repeating: "b", count: 10_000), "/" + String(repeating: "ü", count: 30_000)] {
            #expect(throws: NameError.self) { try base.resolving(reference) }
        }
        #expect(error?.message.contains("65537") == true)
        #expect((error?.message.utf8.count ?? .max) < 300)
    }

    @Test("a URL is built from an origin and its parts")
    func ofParts() throws {
        let origin = try HTTPURL("https://h:8443/").origin
        #expect(try HTTPURL(origin: origin).description == "https://h:8443/")
        #expect(try HTTPURL(origin: origin, path: "", query: "a?b").description == "https://h:8443/?a?b")
        #expect(
            try HTTPURL(origin: origin, path: "/ü/..", query: "é", fragment: "f#g").description
                == "https://h:8443/?%C3%A9#f#g"
        )
        #expect(throws: NameError.self) { try HTTPURL(origin: origin, path: "a") }
        #expect(throws: NameError.self) { try HTTPURL(origin: origin, path: "/a?b") }
        #expect(throws: NameError.self) { try HTTPURL(origin: origin, path: "/a#b") }
        #expect(throws: NameError.self) { try HTTPURL(origin: origin, query: "a#b") }
        #expect(throws: NameError.self) { try HTTPURL(origin: origin, path: "/a\r\nb") }
    }

    @Test(
        "parameters are added to a query, with every character that has a meaning there encoded",
        arguments: [
            ("https://h", "https://h/?q=bees%20%26%20honey%2B%C3%BC&%3F=%2541%2F%23%3D&e="),
            ("https://h/p?", "https://h/p?q=bees%20%26%20honey%2B%C3%BC&%3F=%2541%2F%23%3D&e="),
            ("https://h//p?x=%20#f", "https://h//p?x=%20&q=bees%20%26%20honey%2B%C3%BC&%3F=%2541%2F%23%3D&e=#f"),
        ]
    )
    func addsQuery(_ text: String, _ result: String) throws {
        let url = try HTTPURL(text)
        #expect(try url.adding(query: ["q": "bees & honey+ü", "?": "%41/#=", "e": ""]).description == result)
        let none: [(name: String, value: String)] = []
        #expect(try url.adding(query: none) == url)
        #expect(try HTTPURL("https://u:p@h").adding(query: [("a", "b"), ("a", "c")]).user == "u")
        #expect(throws: NameError.self) { try url.adding(query: ["a": String(repeating: "a", count: 65_536)]) }
    }

    @Test("a URL is built from a request's pseudo-header fields")
    func ofRequest() throws {
        #expect(try HTTPURL(scheme: "https", authority: "H:443", path: "/a?b").description == "https://h/a?b")
        #expect(try HTTPURL(scheme: "http", authority: "[::1]:81", path: "").description == "http://[::1]:81/")
        for (scheme, authority, path) in [
            ("ftp", "h", "/"), ("", "h", "/"), ("https", "", "/"), ("https", "u@h", "/"), ("https", "h/x", "/"),
            ("https", "h?", "/"), ("https", "h", "*"), ("https", "h", "a"), ("https", "h", "/a#b"),
            ("https", "h", "/a b"), ("https", "h", "/a\r\nb"), ("https", "h\\x", "/"), ("https://x/?", "h", "/"),
        ] {
            #expect(throws: NameError.self, "\(scheme) \(authority) \(path)") {
                try HTTPURL(scheme: scheme, authority: authority, path: path)
            }
        }
    }

    @Test("a URL built from an origin and a target equals the parsed URL")
    func fromTarget() throws {
        let origin = Origin(scheme: .https, host: try Host("example.com"), port: 8_443)
        for target in [
            "/", "/dns-query?dns=AAAB", "/a/../b?c?d", "/ü?é", "/?", "/.", "/./a", "/a/.b", "/%2E/a", "/a?%zz..",
            "/a?b\\c",
            "/[x]|~;@", "/a\"b<", "/a?b'c\"d{e}|`", "//a//?", "/d?dn=www.example.com&ip=192.0.2.1",
        ] {
            let url = try HTTPURL(origin: origin, target: target)
            #expect(try url == HTTPURL("https://example.com:8443\(target)"))
            #expect(try HTTPURL.target(target, of: origin) == url.target)
        }
        for target in ["", "a", "?a", "/a#b", "/a b", "/a\r\nHost: b", "/\\"] {
            let error = #expect(throws: NameError.self) { try HTTPURL(origin: origin, target: target) }
            #expect(error?.code == .malformedURL)
            #expect(throws: NameError.self) { try HTTPURL.target(target, of: origin) }
        }
    }
}
