// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import HTTPTypes
import Names
import Testing

@Suite("Direct form: the address in the URL")
struct DirectFormTests {
    static func request(
        _ url: String,
        at endpoint: String,
        fields: HTTPFields = [:],
        change: (inout DirectForm) -> Void = { _ in }
    ) throws -> DirectForm.Request {
        var form = DirectForm()
        change(&form)
        return try form.request(
            for: try HTTPURL(url),
            at: try Endpoint(parsing: endpoint, defaultPort: nil),
            fields: fields
        )
    }

    @Test(
        "only the authority of the URL is replaced",
        arguments: [
            (
                "https://a.example/p?q=a.example#a.example", "192.0.2.1:443",
                "https://192.0.2.1/p?q=a.example#a.example", "a.example"
            ),
            ("http://a.example:8080/", "[2001:db8::1]:8080", "http://[2001:db8::1]:8080/", "a.example:8080"),
            (
                "https://a.example:8443/a.example", "[64:ff9b::c000:201]:8443",
                "https://[64:ff9b::c000:201]:8443/a.example",
                "a.example:8443"
            ),
        ]
    )
    func authority(_ url: String, _ endpoint: String, _ direct: String, _ host: String) throws {
        let request = try Self.request(url, at: endpoint)
        #expect(request.url.description == direct)
        #expect(request.fields.first { $0.name.canonicalName == "host" }?.value == host)
    }

    @Test("Referer and Origin with the address get the host's name, and other fields stay unchanged")
    func linkFields() throws {
        let request = try Self.request(
            "https://a.example/x",
            at: "192.0.2.1:443",
            fields: [
                .referer: "https://192.0.2.1/from?x=192.0.2.1", .origin: "https://192.0.2.1",
                .accept: "https://192.0.2.1",
            ]
        )
        #expect(request.fields[.referer] == "https://a.example/from?x=192.0.2.1")
        #expect(request.fields[.origin] == "https://a.example")
        #expect(request.fields[.accept] == "https://192.0.2.1")
        for other in ["https://192.0.2.10/", "http://192.0.2.1/", "https://b.example/", "null", ""] {
            let request = try Self.request("https://a.example/x", at: "192.0.2.1:443", fields: [.referer: other])
            #expect(request.fields[.referer] == other)
        }
    }

    @Test("fields that the program chooses hold the host's name")
    func hostFields() throws {
        let name = try #require(HTTPField.Name("X-Online-Host"))
        let request = try Self.request("http://a.example:81/", at: "192.0.2.1:81") { $0.hostFields = [name] }
        #expect(request.fields[name] == "a.example:81")
    }

    @Test(
        "a query parameter holds the host's name exactly once",
        arguments: [
            ("https://a.example/p", "/p?host=a.example"), ("https://a.example/p?x=1", "/p?x=1&host=a.example"),
            ("https://a.example/p?host=evil&x=1&host", "/p?x=1&host=a.example"),
            ("https://a.example/p?hostile=1", "/p?hostile=1&host=a.example"),
        ]
    )
    func queryParameter(_ url: String, _ target: String) throws {
        let request = try Self.request(url, at: "192.0.2.1:443") { $0.queryParameter = "host" }
        #expect(request.url.target == target)
    }
}
