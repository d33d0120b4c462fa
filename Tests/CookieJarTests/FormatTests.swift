// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// Cookie files in every format.
struct FormatTests {
    private static let cookies: [Cookie] = {
        var domain = Cookie("a", "1", domain: "example.com", path: "/x")
        domain.isHostOnly = false
        domain.expires = .after(86_400)
        domain.isHTTPOnly = true
        var secure = Cookie("__Host-b", "v w\t\"x\"", domain: "www.example.com")
        secure.isSecure = true
        secure.sameSite = .strict
        var nameless = Cookie("", "only", domain: "[2001:db8::1]")
        nameless.sameSite = .lax
        return [domain, secure, nameless]
    }()

    // MARK: Netscape

    @Test func netscapeFilesAreReadAsCurlWritesThem() {
        let file = """
            # Netscape HTTP Cookie File
            # https://curl.se/docs/http-cookies.html

            .example.com\tTRUE\t/\tFALSE\t1800000000\tdomain\t1
            #HttpOnly_www.example.com\tFALSE\t/x\tTRUE\t0\thost\tv\tw\r
            example.com\tFALSE\t/\tFALSE\t0\tempty

            not a cookie
            example.com\tMAYBE\t/\tFALSE\t0\ta\tb
            example.com\tTRUE\t/\tFALSE\tsoon\ta\tb
            """
        let read = NetscapeCookieFile.read(Array(file.utf8))
        #expect(read.cookies.map(\.name) == ["domain", "host", "empty"])
        #expect(read.lines == [4, 5, 6])
        #expect(read.problems.map(\.line) == [8, 9, 10])
        #expect(read.cookies[0].domain == "example.com" && !read.cookies[0].isHostOnly)
        #expect(read.cookies[0].expires == CookieTime(secondsSince1970: 1_800_000_000))
        #expect(read.cookies[1].isHTTPOnly && read.cookies[1].isSecure && read.cookies[1].isHostOnly)
        #expect(read.cookies[1].value == "v\tw" && read.cookies[1].expires == nil)
        #expect(read.cookies[2].value.isEmpty)
    }

    @Test func netscapeFilesAreWrittenAsOthersReadThem() {
        let text = String(decoding: NetscapeCookieFile.write(Self.cookies), as: UTF8.self)
        #expect(
            text == """
                # Netscape HTTP Cookie File

                #HttpOnly_.example.com\tTRUE\t/x\tFALSE\t1772452800\ta\t1
                www.example.com\tFALSE\t/\tTRUE\t0\t__Host-b\tv w\t"x"
                2001:db8::1\tFALSE\t/\tFALSE\t0\t\tonly

                """
        )
    }

    @Test(arguments: [
        (
            "curl writes IPv6 addresses without brackets", "::1\tFALSE\t/\tFALSE\t0\ta\t1",
            Cookie("a", "1", domain: "[::1]")
        ),
        ("brackets are read too", "[::1]\tFALSE\t/\tFALSE\t0\ta\t1", Cookie("a", "1", domain: "[::1]")),
        (
            "wget writes a port", "example.com:8080\tFALSE\t/\tFALSE\t0\ta\t1",
            Cookie("a", "1", domain: "example.com")
        ),
        (
            "Python writes no expiry for a session", "example.com\tFALSE\t/\tFALSE\t\ta\t1",
            Cookie("a", "1", domain: "example.com")
        ),
    ])
    func netscapeFilesOfOthersAreRead(_ sentence: String, _ line: String, _ cookie: Cookie) {
        let read = NetscapeCookieFile.read(Array(line.utf8))
        #expect(read.cookies == [cookie] && read.problems.isEmpty, "\(sentence)")
        let written = NetscapeCookieFile.write(read.cookies)
        #expect(NetscapeCookieFile.read(written).cookies == [cookie], "\(sentence)")
    }

    @Test func aNameWithATabCannotStandInANetscapeFile() {
        let file = NetscapeCookieFile.write([Cookie("a\tb", "1", domain: "example.com")])
        #expect(NetscapeCookieFile.read(file).cookies.isEmpty)
    }

    // MARK: JSON and header lines

    @Test(arguments: [CookieFormat.json, .headers])
    func whatIsWrittenIsReadAgain(_ format: CookieFormat) {
        let read = format.read(format.write(Self.cookies), now: noon)
        #expect(read.problems.isEmpty)
        #expect(read.cookies.map { CookieWithoutTimes($0) } == Self.cookies.map { CookieWithoutTimes($0) })
    }

    @Test func jsonKeepsOctetsTimesAndPartition() throws {
        var cookie = Cookie(
            nameOctets: [0xff, 0x61],
            valueOctets: [0x80],
            domain: "example.com",
            created: .after(-0.25)
        )
        cookie.isSecure = true
        cookie.lastAccessed = noon
        cookie.partition = Site(of: try HTTPURL("https://www.page.org/"))
        #expect(CookieJSON.read(CookieJSON.write([cookie]), now: noon).cookies == [cookie])
    }

    @Test("hosts in capitals, in other scripts and without brackets, spaces around values and empty paths are read")
    func looseForms() {
        let text = """
            WWW.Example.com\tFALSE\t\tFALSE\t0\ta\t1\u{20}
            .bücher.example\tTRUE\t/\tFALSE\t0\tb\t2
            0:0:0:0:0:0:0:1\tFALSE\t/\tFALSE\t0\tc\t3
            """
        let json = """
            [{"domain": "WWW.Example.com", "path": "", "name": "a", "value": "1 "},
             {"domain": ".bücher.example", "path": "/", "name": "b", "value": "2"},
             {"domain": "::1", "path": "/", "name": "c", "value": "3"}]
            """
        for file in [text, json] {
            let jar = CookieJar()
            let octets = Array(file.utf8)
            let outcomes = jar.insert(CookieFormat(of: octets).read(octets, now: noon).cookies, now: noon)
            #expect(outcomes == [.kept, .kept, .kept], "\(file)")
            let found = jar.allCookies(now: noon).map { "\($0.domain) \($0.path) \($0.name)=\($0.value)" }
            #expect(found.sorted() == ["[::1] / c=3", "www.example.com / a=1", "xn--bcher-kva.example / b=2"])
        }
    }

    @Test func jsonOfBrowsersIsRead() {
        let file = """
            {"cookies": [
              {"name": "a", "value": "\\u00fc\\ud83c\\udf6a", "domain": ".example.com", "path": "/", "secure": true,
               "expirationDate": 1800000000.5, "sameSite": "no_restriction", "unheard-of": [1, {"x": null}]},
              {"name": "b", "value": "", "domain": "example.com", "hostOnly": true, "session": true, "httpOnly": true},
              {"name": "c", "value": "1", "domain": "example.com", "expires": -1, "sameSite": "Lax"},
              {"value": "1", "domain": "example.com"},
              7
            ]}
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map(\.name) == ["a", "b", "c"])
        #expect(read.problems.map(\.line) == [4, 5])
        #expect(read.cookies[0].value == "\u{fc}\u{1f36a}" && !read.cookies[0].isHostOnly)
        #expect(read.cookies[0].sameSite == .none)
        #expect(read.cookies[0].expires == CookieTime(secondsSince1970: 1_800_000_000.5))
        #expect(read.cookies[1].isHostOnly && read.cookies[1].isHTTPOnly && read.cookies[1].expires == nil)
        #expect(read.cookies[2].expires == nil && read.cookies[2].sameSite == .lax)
    }

    @Test("an insecure cookie without SameSite, which exports of Firefox give as no_restriction or None, is kept")
    func insecureNone() {
        let file = """
            [{"name": "a", "value": "1", "domain": "a.test", "secure": false, "sameSite": "no_restriction"},
             {"name": "b", "value": "1", "domain": "a.test", "secure": false, "sameSite": "None"},
             {"name": "c", "value": "1", "domain": "a.test", "secure": true, "sameSite": "None"}]
            """
        let jar = CookieJar()
        #expect(jar.insert(CookieJSON.read(Array(file.utf8), now: noon).cookies, now: noon) == [.kept, .kept, .kept])
        let found = jar.allCookies(now: noon).sorted { $0.name < $1.name }
        #expect(found.map(\.sameSite) == [.unspecified, .unspecified, .none])
    }

    @Test func jsonOfDriversKeepsExpiryAndPartition() throws {
        let file = """
            [
              {"name": "a", "value": "1", "domain": ".example.com", "expiry": 1800000000},
              {"name": "b", "value": "1", "domain": "ad.test", "secure": true, "partitionKey": "https://a.test"},
              {"name": "c", "value": "1", "domain": "ad.test", "secure": true,
               "partitionKey": {"topLevelSite": "https://b.test", "hasCrossSiteAncestor": true}},
              {"name": "d", "value": "1", "domain": "ad.test", "secure": true,
               "partitionKey": {"sourceOrigin": "https://c.test"}},
              {"name": "e", "value": "1", "domain": "ad.test", "partitionKey": null},
              {"name": "f", "value": "1", "domain": "ad.test", "secure": true, "partitionKey": "null"}
            ]
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(read.problems.map(\.line) == [6])
        #expect(read.cookies[0].expires == CookieTime(secondsSince1970: 1_800_000_000))
        #expect(
            read.cookies.map(\.partition) == [
                nil, Site("https://a.test"), Site("https://b.test"), Site("https://c.test"), nil,
            ]
        )
    }

    @Test func anHTTPArchiveOfSafariHasFieldsJoinedByCommas() {
        let file = """
            {"log": {"creator": {"name": "WebKit Web Inspector", "version": "1.0"}, "entries": [
              {"request": {"url": "https://example.com/x/"}, "response": {"headers": [
                {"name": "Set-Cookie", "value": "a=1; Path=/, b=2; Expires=Mon, 01 Mar 2027 12:00:00 GMT, c=3"}]}}
            ]}}
            """
        let cookies = CookieJSON.read(Array(file.utf8), now: noon).cookies
        #expect(cookies.map { "\($0.name)=\($0.value) \($0.path)" }.sorted() == ["a=1 /", "b=2 /x", "c=3 /x"])
    }

    @Test func anHTTPArchiveGivesWhatABrowserWouldHave() {
        let file = """
            {"log": {"version": "1.2", "entries": [
              {"startedDateTime": "2026-03-01T12:00:00.500+01:00", "request": {"url": "https://www.example.com/x/y"},
               "response": {"headers": [{"name": "Set-Cookie", "value": "a=1; Max-Age=7200\\nb=1"}]}},
              {"startedDateTime": "2026-03-01T11:00:01Z", "request": {"url": "https://www.example.com/x/z"},
               "response": {"headers": [{"name": "set-cookie", "value": "b=2"}, {"name": "set-cookie", "value": "c=1"},
                                        {"name": "set-cookie", "value": "c=1; Max-Age=0"}]}},
              {"startedDateTime": "?", "request": {"url": "https://example.com/"},
               "response": {"headers": [], "cookies": [
                 {"name": "d", "value": "1", "path": "/", "domain": ".example.com", "httpOnly": true,
                  "expires": "2027-01-01T00:00:00.000Z", "sameSite": "Lax"}]}},
              {"request": {"url": "about:blank"}},
              {"request": {"url": "http://"}},
              {"request": {"url": "http://example.com/"},
               "response": {"headers": [{"name": "set-cookie", "value": "e=1; Secure"}]}}
            ]}}
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map { "\($0.name)=\($0.value)" } == ["a=1", "b=2", "d=1"])
        #expect(read.lines == [1, 2, 3])
        #expect(read.problems.map(\.line) == [5, 6])
        #expect(read.cookies[0].expires == .after(3600) && read.cookies[0].path == "/x")
        #expect(read.cookies[2].isHTTPOnly && !read.cookies[2].isHostOnly && read.cookies[2].sameSite == .lax)
    }

    @Test func anHTTPArchiveThatBeginsAfterTheLoginHasTheCookiesOfItsRequests() throws {
        let file = """
            {"log": {"creator": {"name": "WebInspector", "version": "537.36"}, "entries": [
              {"startedDateTime": "2026-03-01T11:00:00.000Z", "request": {"url": "https://www.example.com/", "cookies": [
                 {"name": "sid", "value": "old", "path": "/", "domain": "www.example.com", "expires": null, "httpOnly": true,
                  "secure": true},
                 {"name": "out", "value": "1", "path": "/", "domain": ".example.com", "expires": "2027-01-01T00:00:00.000Z",
                  "httpOnly": false, "secure": false, "sameSite": "Strict"},
                 {"name": "part", "value": "1", "path": "/", "domain": "www.example.com", "expires": null, "httpOnly": false,
                  "secure": true, "sameSite": "None", "partitionKey": {"topLevelSite": "https://page.org"}},
                 {"name": "script", "value": "1", "path": "/", "domain": ".example.com", "expires": null},
                 {"name": "without a domain", "value": "1"}]},
               "response": {"headers": [{"name": "set-cookie", "value": "sid=n\\u00c3\\u00a9w; Secure; HttpOnly; Path=/"},
                 {"name": "set-cookie", "value": "out=; Domain=example.com; Path=/; Max-Age=0"}]}},
              {"startedDateTime": "2026-03-01T11:00:01.000Z", "request": {"url": "https://www.example.com/", "cookies": [
                 {"name": "sid", "value": "old", "path": "/", "domain": "www.example.com", "expires": null},
                 {"name": "out", "value": "1", "path": "/", "domain": ".example.com", "expires": null},
                 {"name": "script", "value": "2", "path": "/", "domain": ".example.com", "expires": null}]},
               "response": {"headers": []}}
            ]}}
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        let values = Dictionary(read.cookies.map { ($0.name, $0.value) }) { $1 }
        #expect(values == ["sid": "n\u{e9}w", "part": "1", "script": "2"] && read.problems.isEmpty)
        #expect(read.cookies.first { $0.name == "part" }?.partition == Site("https://page.org"))
    }

    @Test func anHTTPArchiveWithoutCookiesSaysSo() {
        let file = #"{"log": {"entries": [{"request": {"url": "https://a.test/", "cookies": []}, "response": {}}]}}"#
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.cookies.isEmpty && read.problems.map(\.reason).first?.contains("sensitive") == true)
    }

    @Test func anExpiryMayBeADateOfISO8601AndIsNotLost() {
        let file = """
            [{"name": "a", "value": "1", "domain": "a.test", "expires": "2027-03-01T12:00:00.000Z"},
             {"name": "b", "value": "1", "domain": "a.test", "expires": ""},
             {"name": "c", "value": "1", "domain": "a.test", "expires": "tomorrow"}]
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map(\.expires) == [.after(365 * 86_400), nil])
        #expect(read.problems.map(\.line) == [3])
    }

    @Test(arguments: ["", "{", "[", "[1,]", "[\"\\x\"]", "[\"\u{1}\"]", "nulL", "[] []", "{\"a\" 1}", "[1e999]", "\"a"])
    func whatIsNotJSONIsReported(_ text: String) {
        let read = CookieJSON.read(Array(text.utf8), now: noon)
        #expect(read.cookies.isEmpty && read.problems.count == 1, "\(text)")
    }

    @Test func deepJSONIsRefusedAndDoesNotOverflow() {
        let text = String(repeating: "[", count: 1_000_000)
        #expect(CookieJSON.read(Array(text.utf8), now: noon).problems.first?.reason.contains("not JSON") == true)
    }

    @Test func headerLinesTakeTheirURLFromTheFile() {
        let file = """
            HTTP/1.1 200 OK
            Set-Cookie: lost=1
            set-cookie: a=1; Domain=example.com; Path=/
            # https://www.example.com/x/y
            Set-Cookie: b=1
            Set-Cookie: c=1; Domain=other.org
            """
        let read = SetCookieLines.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map(\.name) == ["a", "b"])
        #expect(read.cookies[1].path == "/x" && read.cookies[1].domain == "www.example.com")
        #expect(read.problems.map(\.line) == [2, 6])
    }

    @Test func headerLinesWithoutADomainComeFromTheRequestedURL() throws {
        // A file of response heads, as `curl -D` writes it and `curl -b` reads it.
        let file = """
            HTTP/1.1 200 OK\r
            Date: Sun, 01 Mar 2026 12:00:00 GMT\r
            Set-Cookie: sid=1; Path=/\r
            Set-Cookie: wide=1; Domain=.example.com\r
            \r
            .example.com\tTRUE\t/\tFALSE\t0\ttabbed\t1
            """
        let octets = Array(file.utf8)
        #expect(CookieFormat(of: octets) == .headers)
        let read = CookieFormat(of: octets).read(octets, from: try HTTPURL("https://www.example.com/x/y"), now: noon)
        #expect(
            read.cookies.map { "\($0.name) \($0.domain) \($0.isHostOnly)" } == [
                "sid www.example.com true", "wide example.com false", "tabbed example.com false",
            ]
        )
        #expect(read.problems.isEmpty)
    }

    @Test(arguments: [CookieFormat.headers, .json, .storageState])
    func thePartitionOfAThirdPartySurvivesTheRoundTrip(_ format: CookieFormat) {
        var cookie = Cookie("a", "1", domain: "ad.test")
        cookie.isSecure = true
        cookie.sameSite = .none
        cookie.partition = Site("https://page.org")
        #expect(format.read(format.write([cookie]), now: noon).cookies.map(\.partition) == [cookie.partition])
    }

    @Test func aByteOrderMarkHidesNoFormat() {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let json = mark + Array(#"[{"name": "a", "value": "1", "domain": "a.test"}]"#.utf8)
        let netscape = mark + Array("a.test\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)
        for octets in [json, netscape] {
            let read = CookieFormat(of: octets).read(octets, now: noon)
            #expect(read.cookies.map(\.domain) == ["a.test"] && read.problems.isEmpty)
        }
    }

    @Test func anOctet0x85InAnArchiveOfChromiumEndsNoField() throws {
        // In UTF-8, the second octet of 内 is 0x86 and that of 兂 is 0x85. Chromium writes the latter as U+0085, which
        // Swift treats as a newline.
        let value = "\u{5185}\u{5142}"
        let octets = Array(value.utf8).map { String(format16($0)) }.joined()
        let file = """
            {"log": {"creator": {"name": "WebInspector"}, "entries": [{"request": {"url": "https://www.example.com/"},
             "response": {"headers": [{"name": "set-cookie",
                "value": "a=\(octets); Domain=example.com; Secure; HttpOnly"}]}}]}}
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        let cookie = try #require(read.cookies.first)
        #expect(read.cookies.count == 1 && cookie.value == value && cookie.domain == "example.com")
        #expect(cookie.isSecure && cookie.isHTTPOnly && !cookie.isHostOnly)
    }

    /// A JSON escape for the character whose number is the octet.
    private func format16(_ octet: UInt8) -> String {
        "\\u00" + (octet < 16 ? "0" : "") + String(octet, radix: 16)
    }

    @Test func playwrightsStorageStateIsReadAndWritten() throws {
        let file = """
            {"cookies": [
              {"name": "sid", "value": "1", "domain": "www.example.com", "path": "/", "expires": -1, "httpOnly": true,
               "secure": true, "sameSite": "Lax"},
              {"name": "wide", "value": "2", "domain": ".example.com", "path": "/", "expires": 1800000000.25,
               "httpOnly": false, "secure": true, "sameSite": "None"}
            ], "origins": [{"origin": "https://www.example.com", "localStorage": []}]}
            """
        let read = CookieFormat.storageState.read(Array(file.utf8), now: noon)
        #expect(read.cookies.map(\.isHostOnly) == [true, false] && read.problems.isEmpty)
        #expect(read.cookies[0].expires == nil && read.cookies[1].sameSite == .none)
        let written = CookieFormat.storageState.write(read.cookies)
        #expect(CookieFormat(of: written) == .json)
        #expect(CookieFormat.json.read(written, now: noon).cookies == read.cookies)
        #expect(String(decoding: written, as: UTF8.self).contains(#""expires":-1"#))
    }

    @Test(arguments: ["127.0.0.1", "[2001:db8::1]"])
    func anAddressThatTheServerNamedHasNoLeadingDotInAStorageState(_ address: String) throws {
        let url = try HTTPURL("http://\(address)/")
        let cookie = try Cookie(setCookie: "a=1; Domain=\(address)", from: url, now: noon)
        #expect(!cookie.isHostOnly)
        let written = String(decoding: CookieFormat.storageState.write([cookie]), as: UTF8.self)
        #expect(written.contains(#""domain":"\#(address)""#), "\(written)")
    }

    @Test func cookieQuickManagersExportIsRead() throws {
        let file = """
            [{"Host raw": "https://.example.com/", "Name raw": "a", "Path raw": "/x", "Content raw": "1",
              "Expires": "15-01-2027 09:00:00", "Expires raw": "1800000000", "Send for": "Encrypted connections only",
              "Send for raw": "true", "HTTP only raw": "true", "SameSite raw": "no_restriction",
              "This domain only": "Valid for subdomains", "This domain only raw": "false"},
             {"Host raw": "https://www.example.com/", "Name raw": "b", "Path raw": "/", "Content raw": "2",
              "Expires raw": "0", "Send for raw": "false", "HTTP only raw": "false", "SameSite raw": "lax",
              "This domain only raw": "true"}]
            """
        let read = CookieJSON.read(Array(file.utf8), now: noon)
        #expect(read.problems.isEmpty && read.cookies.map(\.domain) == ["example.com", "www.example.com"])
        #expect(read.cookies[0].expires == CookieTime(secondsSince1970: 1_800_000_000) && read.cookies[0].isSecure)
        #expect(read.cookies[0].isHTTPOnly && read.cookies[0].sameSite == .none && !read.cookies[0].isHostOnly)
        #expect(read.cookies[1].expires == nil && read.cookies[1].isHostOnly && !read.cookies[1].isSecure)
    }

    @Test func tabsThatBecameSpacesAreRead() {
        let read = NetscapeCookieFile.read(Array(".example.com  TRUE  /  FALSE  1800000000.5  a  1\n".utf8))
        #expect(read.cookies.map(\.name) == ["a"] && read.problems.isEmpty)
    }

    // MARK: Fields joined by commas

    @Test(arguments: [
        ("one field", "a=1; Path=/", ["a=1; Path=/"]),
        ("two fields", "a=1, b=2", ["a=1", "b=2"]),
        (
            "a date with a comma", "a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/, b=2",
            ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/", "b=2"]
        ),
        (
            "a date at the end of a field",
            "a=1; expires=Wednesday, 09-Jun-27 10:18:14 GMT,b=2; expires=Wed, 09 Jun 2027 10:18:14 GMT",
            ["a=1; expires=Wednesday, 09-Jun-27 10:18:14 GMT", "b=2; expires=Wed, 09 Jun 2027 10:18:14 GMT"]
        ),
        (
            "a date without a comma", "a=1; Expires=Wed 09 Jun 2027 10:18:14 GMT, b=2",
            ["a=1; Expires=Wed 09 Jun 2027 10:18:14 GMT", "b=2"]
        ),
        ("commas in a value", "a=1,2,3; Path=/, b=x, y; Secure", ["a=1,2,3; Path=/", "b=x, y; Secure"]),
        ("a day's name in a value is no date", "a=Wed, b=2", ["a=Wed", "b=2"]),
        ("spaces before the equals sign", "a=1, b = 2", ["a=1", "b = 2"]),
        ("empty parts", " , a=1", ["a=1"]),
        ("nothing", "", []),
    ])
    func joinedFieldsAreParted(_ sentence: String, _ joined: String, _ fields: [String]) {
        #expect(SetCookieSplitter.split(joined) == fields, "\(sentence)")
    }
}

/// The fields that header lines contain: all but the times of creation and last access.
private struct CookieWithoutTimes: Equatable {
    let cookie: Cookie

    init(_ cookie: Cookie) {
        var cookie = cookie
        cookie.created = noon
        cookie.lastAccessed = noon
        self.cookie = cookie
    }
}
