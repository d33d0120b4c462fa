// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@Suite("netrc files", .timeLimit(.minutes(1)))
struct NetrcTests {
    private static let text = """
        # people
        machine a.test login "user one" password "with \\"\\n\\t"
        machine b.test password first login other # and so on
        machine b.test password generic
        macdef init
        machine no.test login no password no

        machine B.test login third password 3
        default login anon
        """

    @Test(
        "the login of a host is the first that fits",
        arguments: [
            ("a.test", nil, "user one", "with \"\n\t"), ("A.test", nil, "user one", "with \"\n\t"),
            ("b.test", nil, "other", "first"), ("b.test", "third", "third", "3"),
            ("b.test", "me", "me", "generic"), ("no.test", nil, "anon", ""),
        ] as [(String, String?, String, String)]
    )
    func login(host: String, user: String?, expected: String, password: String) throws {
        let login = try #require(try Netrc(parsing: Self.text).login(for: Host(host), user: user))
        #expect(login.user == expected)
        #expect(login.password == password)
    }

    @Test("a password that begins with # is not a comment, and the next machine keeps its own login")
    func numberSign() throws {
        let netrc = try Netrc(parsing: "machine a.test login alice password #x\nmachine b.test login bob password s3")
        #expect(try netrc.login(for: Host("a.test"))?.password == "#x")
        #expect(try netrc.login(for: Host("b.test"))?.user == "bob")
    }

    @Test("an entry without a password does not hide a later one of the same user")
    func passwordOfALaterEntry() throws {
        let netrc = try Netrc(parsing: "machine a.test login me\nmachine a.test password \"s\\r\" login me")
        #expect(try netrc.login(for: Host("a.test"), user: "me")?.password == "s\r")
    }

    @Test("a host without an entry has no login, and neither has a user of another name")
    func none() throws {
        let netrc = try Netrc(parsing: "machine a.test login me password own\nmachine b.test")
        #expect(try netrc.login(for: Host("b.test")) == nil)
        #expect(try netrc.login(for: Host("c.test")) == nil)
        #expect(try netrc.login(for: Host("a.test"), user: "other") == nil)
    }

    @Test(
        "an error names the line and no secret",
        arguments: ["machine a login b\npassword \"secret", "machine a\nlogin"]
    )
    func malformed(text: String) {
        let error = #expect(throws: BeelineError.self) { _ = try Netrc(parsing: text) }
        #expect(error?.code == .malformedNetrc)
        #expect(error?.message.contains("line 2") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("each host of a chain of redirects gets its own login")
    func redirects() async throws {
        let netrc = try Netrc(parsing: "machine a.test login one password 1\nmachine b.test login two password 2")
        let lab = try await ClientLab {
            $0.credentialSource = { netrc.credentials(for: $0) }
        } handler: { request in
            request.path == "/go"
                ? .redirect(to: request.query["to"] ?? "") : .text(request.fields[.authorization] ?? "-")
        }
        let seen = try await lab.client.get(lab.url("a.test", "/go?to=\(lab.url("b.test", "/end"))"))
        #expect(try await seen.text() == "Basic dHdvOjI=")
        #expect(seen.hops.first?.request.headerFields[.authorization] == "Basic b25lOjE=")
        await lab.stop()
    }
}
