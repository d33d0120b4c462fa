// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("References, as in Location headers")
struct ReferenceTests {
    @Test(
        "a reference is resolved against a base (RFC 3986 §5.2)",
        arguments: [
            ("http://h/b/c/d;p?q", "g", "http://h/b/c/g", "a name replaces the last segment"),
            ("http://h/b/c/d;p?q", "./g/.", "http://h/b/c/g/", "dot segments go"),
            ("http://h/b/c/d;p?q", "../../../g", "http://h/g", "none leads above the root"),
            ("http://h/b/c/d;p?q", "g?y/../x", "http://h/b/c/g?y/../x", "a query has no segments"),
            ("http://h/b/c/d;p?q", "?y", "http://h/b/c/d;p?y", "a query alone keeps the path"),
            ("http://h/b/c/d;p?q", "", "http://h/b/c/d;p?q", "nothing means the same again"),
            ("http://h/b/c/d;p?q", "#s", "http://h/b/c/d;p?q#s", "a fragment alone changes nothing else"),
            ("http://h/b/c/d;p?q", "/g", "http://h/g", "an absolute path replaces path and query"),
            ("http://h/b/c/d;p?q", "//g", "http://g/", "a network path keeps the scheme"),
            ("http://h/b/c/d;p?q", "wss://g:9/x", "wss://g:9/x", "a URL replaces everything"),
            ("http://h", "g", "http://h/g", "a base without a path has the root's"),
            ("https://h:8443/a", "b", "https://h:8443/b", "the port stays"),
        ]
    )
    func resolved(base: String, reference: String, expected: String, _: String) throws {
        #expect(try HTTPURL(base).resolving(reference).description == expected)
    }

    @Test(
        "invalid references that browsers accept are accepted",
        arguments: [
            ("  /a \r\n", "https://h/a", "white space around"),
            ("/a b?c d", "https://h/a%20b?c%20d", "spaces within"),
            ("/ü?é", "https://h/%C3%BC?%C3%A9", "characters beyond ASCII"),
            ("/%zz", "https://h/%zz", "a percent sign without digits"),
            ("\\\\g\\a?\\b", "https://g/a?\\b", "backslashes for slashes"),
            ("https:/g/a", "https://h/g/a", "a scheme before a path"),
            ("https:g", "https://h/x/g", "and before a name"),
            ("http:g", "http://g/", "slashes that are missing"),
            ("http:////g/a", "http://g/a", "and slashes that are too many"),
            ("HTTPS://G/", "https://g/", "capitals"),
        ]
    )
    func forgiven(reference: String, expected: String, _: String) throws {
        #expect(try HTTPURL("https://h/x/y").resolving(reference).description == expected)
    }

    @Test(
        "a reference with a scheme other than HTTP's is rejected",
        arguments: [
            "file:///etc/passwd", "javascript:alert(1)", "data:,x", "ftp://h/", "  mailto:a@b", "b:c", "about:",
        ]
    )
    func otherScheme(reference: String) throws {
        let base = try HTTPURL("https://h/")
        #expect(throws: NameError.self) { try base.resolving(reference) }
        #expect { try base.resolving(reference) } throws: { ($0 as? NameError)?.code == .unsupportedScheme }
    }

    @Test(
        "control characters and invalid hosts in a reference are rejected",
        arguments: ["/a\r\nSet-Cookie: x", "/a\0", "/a\u{7f}", "//h\n.example", "//", "http:", "//h:x/", "//h h/"]
    )
    func malformed(reference: String) throws {
        let base = try HTTPURL("https://h/")
        #expect(throws: NameError.self) { try base.resolving(reference) }
    }

    @Test("a reference without a fragment inherits the base's (RFC 9110 §10.2.2)")
    func fragment() throws {
        let base = try HTTPURL("https://h/a#top")
        #expect(try base.resolving("/b").fragment == "top")
        #expect(try base.resolving("https://g/").fragment == "top")
        #expect(try base.resolving("/b#end").fragment == "end")
        #expect(try base.resolving("/b#").fragment == "")
    }

    @Test("a reference inherits user and password only if it names no host")
    func userInfo() throws {
        let base = try HTTPURL("https://u:p@h/a")
        #expect(try base.resolving("/b").user == "u")
        #expect(try base.resolving("/b").password == "p")
        for reference in ["//h/b", "https://h/b", "//g/b", "http://h/"] {
            #expect(try base.resolving(reference).user == nil)
            #expect(try base.resolving(reference).password == nil)
        }
        #expect(try base.resolving("//v@h/").user == "v")
    }
}
