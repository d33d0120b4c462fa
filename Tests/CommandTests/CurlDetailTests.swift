// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

extension ProcessTests {
    /// Details of requests, output and messages in which the command does what curl does.
    struct CurlDetailTests {
        @Test("an option that another one deselects, and a single quote in a file of options, get curl's warnings")
        func overriddenOptions() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write("user-agent = 'mine'\nreferer = \"'quoted'\"\n", to: "options")
            let quote = "options:1 Option 'user-agent' uses argument with leading single quote. "
            let rows: [(line: [String], warning: String)] = [
                (["--fail-with-body", "--fail"], "--fail deselects --fail-with-body here"),
                (["--fail", "--fail-with-body"], "--fail-with-body deselects --fail here"),
                (["--location", "--follow"], "--follow overrides --location"),
                (["--follow", "--location"], "--location overrides --follow"),
                (["-K", "options"], quote + "It is probably a mistake. Consider double quotes."),
            ]
            for (line, warning) in rows {
                let run = try await lab.beeline(line + [lab.plainURL()])
                #expect(run.status == 0 && run.errors == "Warning: \(warning)\n")
                #expect(try await lab.beeline(["-s"] + line + [lab.plainURL()]).errors == "")
            }
            #expect(try await lab.beeline(["-f", "-f", "-L", "-L", lab.plainURL()]).errors == "")
            await lab.stop()
        }

        @Test("--no-remote-name is for a URL of --remote-name-all only")
        func noRemoteName() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let run = try await lab.beeline(["-o", "out", "--no-remote-name", "-w", "%{stderr}yes", lab.plainURL("/x")])
            #expect(run.errors == "yes")
            #expect(try lab.folder.text("out") == "ok")
            let all = try await lab.beeline(["-s", "--remote-name-all", "--no-remote-name", lab.plainURL("/x")])
            #expect(all.text == "ok" && !lab.folder.has("x"))
            await lab.stop()
        }

        @Test("the Host has a host of the command line as it is typed, and that of a redirect in lower case")
        func typedHost() async throws {
            let lab = try await CommandLab { request in
                request.path == "/go" ? .redirect(to: request.query["to"] ?? "") : .text("ok")
            }
            let port = lab.plain.port
            let line = ["-s", "-L"] + ["a", "b"].flatMap { ["--resolve", "MiXeD.\($0).test:\(port):127.0.0.1"] }
            let url = "http://MiXeD.a.test:\(port)"
            let targets = ["\(url)/", "http://mixed.a.test:\(port)/", "\(url)/go?to=http://MIXED.b.test:\(port)/"]
            #expect(try await lab.beeline(line + targets).text == "okokok")
            #expect(try await lab.beeline(line + ["-H", "Host: Own", "\(url)/"]).text == "ok")
            let hosts = ["MiXeD.a.test", "mixed.a.test", "MiXeD.a.test", "mixed.b.test"].map { "\($0):\(port)" }
            #expect(lab.plain.requests.compactMap(\.authority) == hosts + ["Own"])
            await lab.stop()
        }

        @Test("-H \"Host;\" sends an empty Host, and -H \"Host:\" none")
        func emptyHost() async throws {
            let heads = NIOLockedValueBox<[String]>([])
            let server = try await RawServer.start { connection in
                let head = try await connection.receive(until: "\r\n\r\n")
                heads.withLockedValue { $0.append(String(decoding: head ?? [], as: UTF8.self)) }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            }
            let lab = try await CommandLab()
            for line in ["Host;", "Host:"] {
                #expect(try await lab.beeline(["-s", "-H", line, "http://127.0.0.1:\(server.port)/"]).status == 0)
            }
            let sent = heads.withLockedValue { $0 }
            #expect(sent.first?.contains("\r\nHost: \r\n") == true)
            #expect(sent.last?.contains("Host:") == false)
            await lab.stop()
            await server.stop()
        }

        @Test("a field with text after its semicolon is not sent, and a warning names it")
        func semicolons() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let lines = ["X-Empty;", "X-Blanks;  ", "X-Text;ignored"].flatMap { ["-H", $0] }
            let run = try await lab.beeline(lines + [lab.plainURL()])
            let fields = try #require(lab.plain.requests.last?.fields)
            let names = ["X-Empty", "X-Blanks", "X-Text"].compactMap { HTTPField.Name($0) }
            #expect(names.map { fields[$0] } == ["", nil, nil])
            let warning = "not sent, because it has text after the semicolon"
            #expect(run.errors == "Warning: -H \"X-Blanks…\": \(warning)\nWarning: -H \"X-Text…\": \(warning)\n")
            await lab.stop()
        }

        @Test("a Host of --proxy-header replaces that of CONNECT, whose response counts even if it is hidden")
        func tunnels() async throws {
            let opened = "HTTP/1.1 200 opened\r\n\r\n"
            let head = "HTTP/1.1 200 fine\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
            let heads = NIOLockedValueBox<[String]>([])
            let proxy = try await RawServer.start { connection in
                for reply in [opened, head + "ok"] {
                    let head = try await connection.receive(until: "\r\n\r\n")
                    heads.withLockedValue { $0.append(String(decoding: head ?? [], as: UTF8.self)) }
                    try await connection.send(reply)
                }
            }
            let lab = try await CommandLab()
            let line = ["-s", "-i", "-p", "-x", "http://127.0.0.1:\(proxy.port)", "--proxy-header", "Host: other"]
            let format = " %{http_connect} %{size_header} %{size_delivered}"
            let run = try await lab.beeline(
                line + ["--suppress-connect-headers", "-w", format, "http://a.test/"]
            )
            #expect(run.text == head + "ok 200 \(opened.utf8.count + head.utf8.count) 2", "\(run.errors)")
            let sent = heads.withLockedValue { $0 }
            #expect(sent.first?.contains("Host: other\r\n") == true && sent.first?.contains("Host: a.test") == false)
            #expect(sent.last?.contains("Host: a.test\r\n") == true)
            await lab.stop()
            await proxy.stop()
        }

        @Test("after a response with HTTP/1.0, the next request has that version, except with chunks and with Expect")
        func oldServer() async throws {
            let lines = NIOLockedValueBox<[String]>([])
            let server = try await RawServer.start { connection in
                while let bytes = try await connection.receive(until: "\r\n\r\n") {
                    let head = String(decoding: bytes, as: UTF8.self)
                    if head.contains("chunked") { _ = try await connection.receive(until: "0\r\n\r\n") }
                    if head.contains("100-continue") {
                        try await connection.send("HTTP/1.1 100 Continue\r\n\r\n")
                        _ = try await connection.receive(until: "x")
                    }
                    lines.withLockedValue { $0.append(String(head.prefix { !$0.isNewline })) }
                    try await connection.send(
                        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
                    )
                }
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)/"
            let chunks = ["-d", "x", "-H", "Transfer-Encoding: chunked", "-H", "Expect:"]
            let posts = ["POST / HTTP/1.1", "POST / HTTP/1.1"]
            let expects = ["-d", "x", "-H", "Expect: 100-continue"]
            for (options, sent) in [([], ["GET / HTTP/1.1", "GET / HTTP/1.0"]), (chunks, posts), (expects, posts)] {
                let run = try await lab.beeline(["-s", "-v"] + options + [url, url])
                #expect(run.text == "okok", "\(run.errors)")
                #expect(lines.withLockedValue { $0 } == sent)
                let shown = run.errors.split(separator: "\n" as Character).filter { $0.hasPrefix("> ") }
                #expect(shown.map { String($0.dropFirst(2)) }.filter { $0.contains(" / HTTP/") } == sent)
                lines.withLockedValue { $0 = [] }
            }
            #expect(server.connections.accepted == 3)
            await lab.stop()
            await server.stop()
        }

        @Test("-v shows the request line and the fields that an HTTP proxy gets")
        func requestToAProxy() async throws {
            let heads = NIOLockedValueBox<[String]>([])
            let proxy = try await RawServer.start { connection in
                let head = try await connection.receive(until: "\r\n\r\n")
                heads.withLockedValue { $0.append(String(decoding: head ?? [], as: UTF8.self)) }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            }
            let lab = try await CommandLab()
            let options = ["-v", "-x", "http://127.0.0.1:\(proxy.port)", "--proxy-header", "X-Own: 1"]
            let run = try await lab.beeline(options + ["http://a.test/x?y"])
            let sent = heads.withLockedValue { $0.first ?? "" }
            for text in ["GET http://a.test/x?y HTTP/1.1", "X-Own: 1"] {
                #expect(sent.contains("\(text)\r\n") && run.errors.contains("> \(text)\n"), "\(run.errors)")
            }
            await lab.stop()
            await proxy.stop()
        }

        @Test(
            "-v shows the version and the fields as they were sent, and %{size_request} counts them",
            arguments: [
                ["-0"], ["-H", "Host:"], ["-H", "Connection: close"], ["-H", "TE: trailers"], ["-H", "TE: gzip"],
                ["-H", "TE: trailers", "-H", "Connection: close"], ["--raw", "-H", "TE: gzip"],
            ]
        )
        func requestAsSent(_ options: [String]) async throws {
            let head = NIOLockedValueBox("")
            let server = try await RawServer.start { connection in
                let sent = try await connection.receive(until: "\r\n\r\n")
                head.withLockedValue { $0 = String(decoding: sent ?? [], as: UTF8.self) }
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            }
            let lab = try await CommandLab()
            let line = ["-v", "-w", "%{size_request}"] + options
            let run = try await lab.beeline(line + ["http://127.0.0.1:\(server.port)/"])
            let shown = run.errors.split(separator: "\n" as Character).filter { $0.hasPrefix("> ") }
            let sent = head.withLockedValue { $0 }.split(separator: "\r\n" as Character)
            #expect(run.text == "\(head.withLockedValue { $0.utf8.count })")
            #expect(run.status == 0 && shown.map { $0.dropFirst(2) }.sorted() == sent.sorted(), "\(run.errors)")
            await lab.stop()
            await server.stop()
        }

        @Test("requests of --next share a connection, also if only one has a login")
        func sharedConnection() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let run = try await lab.beeline(
                ["-s", lab.plainURL(), "--next", "-s", "--anyauth", "-u", "me:secret", lab.plainURL()]
            )
            #expect(run.text == "okok")
            #expect(lab.plain.connections.accepted == 1)
            await lab.stop()
        }

        @Test("requests of --next with other methods share a connection, and each follows redirects by its own rules")
        func sharedConnectionOfMethods() async throws {
            let lab = try await CommandLab { request in
                request.path == "/go" ? .redirect(to: "/end") : .text(request.method.rawValue)
            }
            let url = lab.plainURL("/go")
            let run = try await lab.beeline(
                ["-sL", url, "--next", "-sL", "-X", "PUT", url, "--next", "-sL", "-d", "x", url]
            )
            #expect(run.text == "GETPUTGET")
            #expect(lab.plain.connections.accepted == 1)
            await lab.stop()
        }

        @Test("the user of a URL does not follow to another origin, even with --location-trusted")
        func userOfURL() async throws {
            let lab = try await CommandLab { request in
                request.path == "/go"
                    ? .redirect(to: request.query["to"] ?? "") : .text(request.fields[.authorization] ?? "-")
            }
            let target = "http://127.0.0.2:\(lab.plain.port)/end"
            let url = "http://me:secret@127.0.0.1:\(lab.plain.port)/go?to=\(target)"
            #expect(try await lab.beeline(["-s", "--location-trusted", url]).text == "-")
            let challenged = try await CommandLab { request in
                if request.path == "/go" { return .redirect(to: request.query["to"] ?? "") }
                guard let login = request.fields[.authorization] else {
                    return .text("-", status: .unauthorized).adding(.wwwAuthenticate, "Basic realm=\"r\"")
                }
                return .text(login)
            }
            let port = challenged.plain.port
            let other = "http://me:secret@127.0.0.1:\(port)/go?to=http://127.0.0.2:\(port)/end"
            #expect(try await lab.beeline(["-s", "--location-trusted", "--anyauth", other]).text == "-")
            await challenged.stop()
            let own = ["-s", "--location-trusted", "-u", "you:own", lab.plainURL("/go?to=\(target)")]
            #expect(try await lab.beeline(own).text == "Basic eW91Om93bg==")
            await lab.stop()
        }

        @Test("with --location-trusted, the Basic login that --anyauth has chosen goes to the next host at once")
        func carriedLogin() async throws {
            let lab = try await CommandLab { request in
                guard let login = request.fields[.authorization] else {
                    return request.path == "/end"
                        ? .text("-")
                        : .text("", status: .unauthorized).adding(.wwwAuthenticate, "Basic realm=\"r\"")
                }
                return request.path == "/go" ? .redirect(to: request.query["to"] ?? "") : .text(login)
            }
            let url = lab.plainURL("/go?to=http://127.0.0.2:\(lab.plain.port)/end")
            let line = ["-s", "--anyauth", "-u", "me:secret", url]
            #expect(try await lab.beeline(line + ["--location-trusted"]).text == "Basic bWU6c2VjcmV0")
            #expect(lab.plain.requests.map(\.path) == ["/go", "/go", "/end"])
            #expect(try await lab.beeline(line + ["-L"]).text == "-")
            await lab.stop()
        }

        @Test("after a redirect, --oauth2-bearer is not replaced by the default login of a netrc file")
        func tokenAndLogins() async throws {
            let lab = try await CommandLab { request in
                request.path == "/go"
                    ? .redirect(to: request.query["to"] ?? "") : .text(request.fields[.authorization] ?? "-")
            }
            try lab.folder.write("default login me password secret\n", to: "logins")
            let url = lab.plainURL("/go?to=http://127.0.0.2:\(lab.plain.port)/end")
            let line = ["-s", "-L", "--netrc-file", "logins", url]
            #expect(try await lab.beeline(line + ["--oauth2-bearer", "token"]).text == "-")
            #expect(try await lab.beeline(line).text == "Basic bWU6c2VjcmV0")
            // Parts that differ only in the token.
            let withToken = line + ["--oauth2-bearer", "token"]
            #expect(try await lab.beeline(withToken + ["--next"] + line).text == "-Basic bWU6c2VjcmV0")
            #expect(try await lab.beeline(line + ["--next"] + withToken).text == "Basic bWU6c2VjcmV0-")
            await lab.stop()
        }

        @Test("SSLKEYLOGFILE gets the secrets of TLS connections, and a file that cannot be written is named")
        func keyLog() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let line = lab.names + ["-s", "-S", lab.url("a.test")]
            for (version, label) in [("1.2", "CLIENT_RANDOM"), ("1.3", "CLIENT_TRAFFIC_SECRET_0")] {
                let environment = ["SSLKEYLOGFILE": "keys"]
                let run = try await lab.beeline(line + ["--tls-max", version, "--tlsv1.2"], environment: environment)
                #expect(run.text == "ok", "\(run.errors)")
                #expect(try lab.folder.text("keys").split(separator: "\n").contains { $0.hasPrefix("\(label) ") })
            }
            let failed = try await lab.beeline(line, environment: ["SSLKEYLOGFILE": "none/keys"])
            #expect(failed.status == 35 && failed.errors.contains("none/keys"), "\(failed.errors)")
            await lab.stop()
        }

        @Test("-# draws the bar of a body that goes to a pipe into the file of --stderr")
        func barInAFile() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let run = try await lab.beeline(["-#", "--stderr", "messages", lab.plainURL()])
            #expect(run.text == "ok")
            let bar = "\r" + String(repeating: "#", count: 72) + " 100.0%\n"
            #expect(try lab.folder.text("messages").hasSuffix(bar))
            #expect(try await lab.beeline(["-#", "-s", lab.plainURL()]).errors == "")
            #expect(try await lab.beeline([lab.plainURL()]).errors == "")
            await lab.stop()
        }
    }
}
