// SPDX-License-Identifier: Apache-2.0

import Names

@testable import CookieJar

extension Fuzzer {
    private static let noon = CookieTime(secondsSince1970: 1_772_366_400)

    /// Decoders of `Set-Cookie` and of cookie files.
    static let cookies: [Fuzzer] =
        [
            Fuzzer(
                "set-cookie",
                texts: [
                    "a=b; Path=/; Domain=example.com; Secure; HttpOnly; SameSite=None; Partitioned; Max-Age=60",
                    "__Host-id=\"v\"; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Secure; Path=/", "nameless",
                ]
            ) { bytes in
                let url = try HTTPURL("https://www.example.com/x/y")
                let cookie = try Cookie(setCookieOctets: bytes, from: url, now: noon)
                let host = cookie.isHostOnly ? cookie.domain : "www.\(cookie.domain)"
                let again = try HTTPURL("https://\(host)/")
                guard (try? Cookie(setCookieOctets: cookie.setCookieOctets, from: again, now: noon)) != nil else {
                    violation("a cookie is not read again from its own text")
                }
            },
            Fuzzer("cookie-date", texts: ["Wed, 09 Jun 2027 10:18:14 GMT", "Wednesday, 09-Jun-27 10:18:14 GMT"]) {
                bytes in
                guard let read = CookieDateParser.parse(bytes, bytes.indices) else { return }
                if CookieTime(cookieDate: read.httpDate) != read { violation("a date is not read again as itself") }
            },
            Fuzzer(
                "joined-set-cookie",
                texts: ["a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT; Path=/, b=2, c", "a=1,b=2,,"]
            ) {
                let fields = SetCookieSplitter.split(String(decoding: $0, as: UTF8.self))
                if SetCookieSplitter.split(fields.joined(separator: ", ")) != fields {
                    violation("a split is not stable")
                }
            },
            Fuzzer("public-suffix", texts: ["www.example.co.uk", "a.b.www.ck", "..", "x.github.io."]) { bytes in
                _ = PublicSuffixList.registrableDomain(of: String(decoding: bytes, as: UTF8.self))
            },
            Fuzzer(
                "har",
                texts: [
                    """
                    {"log":{"entries":[{"startedDateTime":"2026-03-01T12:00:00.5+01:30","request":{"url":"https://a.example/",\
                    "cookies":[{"name":"d","value":"4","domain":".a.example","expires":"2027-01-01T00:00:00Z"}]},\
                    "response":{"headers":[{"name":"Set-Cookie","value":"a=1; Path=/\\nb=2"}]}}]}}
                    """
                ]
            ) { bytes in
                _ = CookieJSON.read(bytes, now: noon)
            },
        ]
        + CookieFormat.allCases.map { format in
            Fuzzer(
                "cookies-\(format)",
                texts: [
                    "#HttpOnly_.example.com\tTRUE\t/\tTRUE\t0\tn\tv\n",
                    "# https://a.example/\nSet-Cookie: a=b; Secure\n",
                    "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\n\r\n",
                    #"[{"name":"\ud83c\udf6a","value":"1","domain":".a.example","expirationDate":1.5e9}]"#,
                    #"{"cookies":[{"name":"n","value":"v","domain":"a.example","path":"/","expires":-1,"sameSite":"Lax"}]}"#,
                ]
            ) { bytes in
                let jar = CookieJar()
                jar.insert(format.read(bytes, now: noon).cookies, now: noon)
                let written = format.write(jar.allCookies(now: noon))
                if !format.read(written, now: noon).problems.isEmpty { violation("a file of ours has problems") }
            }
        }
}
