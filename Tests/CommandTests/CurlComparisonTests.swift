// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Ordinary command lines do the same as in curl: the server, standard output and files receive the same bytes, and
    /// the exit code is the same.
    @Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "curl is not installed"))
    struct CurlComparisonTests {
        /// One command line. `{P}` is a site without TLS, `{S}` one with TLS, `{U}` one with an untrusted certificate.
        struct Row: Sendable {
            var what: String
            var arguments: [String]
            /// The arguments for curl, if they differ.
            var curlArguments: [String]?
            var input = ""

            init(_ what: String, _ arguments: String..., curl: [String]? = nil, input: String = "") {
                self.what = what
                self.arguments = arguments
                curlArguments = curl
                self.input = input
            }
        }

        static let rows: [Row] = [
            Row("a URL", "{P}/echo"),
            Row("a URL without a scheme", "127.0.0.1:{PORT}/echo"),
            Row("TLS by name", "{S}/status/200"),
            Row("a query and a fragment", "{P}/echo?a=b%20c&d#fragment"),
            Row("dot segments", "{P}/a/../echo/./x"),
            Row("two URLs", "{P}/echo/1", "{P}/chunked/3"),
            Row("the head before the body", "-i", "{P}/chunked/2"),
            Row("the head only", "-I", "{P}/bytes/10"),
            Row("a HEAD by method", "-I", "-X", "HEAD", "{P}/bytes/10"),
            Row("form data", "-d", "a=b", "-d", "c=d", "{P}/echo"),
            Row("form data in one word", "-da=b", "{P}/echo"),
            Row("data that begins with a dash", "-d", "-1", "{P}/echo"),
            Row("empty data", "-d", "", "{P}/echo"),
            Row("data from a file", "-d", "@lines.txt", "{P}/echo"),
            Row("data from standard input", "-d", "@-", "{P}/echo", input: "from\nstdin"),
            Row("binary data from a file", "--data-binary", "@lines.txt", "{P}/echo"),
            Row("binary data among other data", "-d", "a=1", "--data-binary", "@lines.txt", "-d", "b=2", "{P}/echo"),
            Row("raw data with an @", "--data-raw", "@lines.txt", "{P}/echo"),
            Row("encoded data", "--data-urlencode", "q=x y&z/ü", "-d", "a=1", "--data-urlencode", "=w+", "{P}/echo"),
            Row("an @ before the equals sign", "--data-urlencode", "user@host=a b", "{P}/echo"),
            Row("encoded data from a file", "--data-urlencode", "f@lines.txt", "{P}/echo"),
            Row("data in the URL", "-G", "-d", "a=1", "--data-urlencode", "q=x y", "{P}/echo"),
            Row("data added to a query", "-G", "-d", "a=1", "{P}/echo?b=2#f"),
            Row("data in the URL of a HEAD", "-G", "-I", "-d", "a=1", "{P}/bytes/10"),
            Row("JSON", "--json", "{\"a\":1}", "{P}/echo"),
            Row("JSON in the URL", "-G", "--json", "a", "{P}/echo"),
            Row("a method", "-X", "DELETE", "{P}/echo"),
            Row("a method in one word", "-XOPTIONS", "{P}/echo"),
            Row("a method with data", "-X", "PATCH", "-d", "x", "{P}/echo"),
            Row("a custom content type", "-H", "Content-Type: text/csv", "-d", "x", "{P}/echo"),
            Row("headers", "-H", "X-A: 1", "-H", "x-a:2", "-H", "X-Empty;", "{P}/echo"),
            Row("a header with a default, given twice", "-H", "Accept: a/b", "-H", "Accept: c/d", "{P}/echo"),
            Row("an empty header", "-H", "", "-H", " ", "-H", "X-A: 1", "{P}/echo"),
            Row("headers from a file", "-H", "@headers.txt", "{P}/echo"),
            Row("headers that are removed", "-H", "Accept:", "-H", "User-Agent:", "{P}/echo"),
            Row("a content type that is removed", "-H", "Content-Type:", "-d", "x", "{P}/echo"),
            Row("a custom Host", "-H", "Host: other.test", "{P}/echo"),
            Row("agent and referer", "-A", "agent/1", "-e", "http://r.test/", "{P}/echo"),
            Row("no agent", "-A", "", "{P}/echo"),
            Row("user and password", "-u", "me:pass word", "{P}/echo"),
            Row("user and password in the URL", "http://me:p%40ss@127.0.0.1:{PORT}/echo"),
            Row("a custom Authorization wins over -u", "-u", "me:x", "-H", "Authorization: Bearer t", "{P}/echo"),
            Row("cookies", "-b", "a=b; c=d", "{P}/echo"),
            Row("cookies of a Netscape file", "-b", "cookies.txt", "{P}/echo"),
            Row("cookies of a file of headers", "-b", "cookies.hdr", "{P}/echo"),
            Row("cookies of a missing file", "-b", "nothing.txt", "{P}/echo"),
            Row("cookies that a redirect sets", "-b", "", "-L", "{P}/hop-with-cookie"),
            Row("a range", "-r", "2-5", "{P}/ranged"),
            Row("a range to the end", "-r", "4", "{P}/ranged"),
            Row("a compressed body", "--compressed", "{P}/zipped"),
            Row("a compressed body that is not decoded", "--raw", "--compressed", "{P}/unknownzip"),
            Row("a body that is compressed twice", "--compressed", "{P}/zipped-twice"),
            Row("a compressed body without --compressed", "{P}/zipped"),
            Row("the size of a compressed body", "--compressed", "-w", "%{size_download}", "{P}/zipped"),
            Row(
                "a form",
                "-F",
                "a=b",
                "-F",
                "f=@lines.txt",
                "-F",
                "g=@data.bin;type=image/png;filename=x \"y\".png",
                "{P}/echo"
            ),
            Row("a form of texts", "-F", "a=<lines.txt", "--form-string", "b=@c;d", "{P}/echo"),
            Row("an upload", "-T", "lines.txt", "{P}/echo/up"),
            Row("an upload into a folder", "-T", "lines.txt", "{P}/echo/"),
            Row("an upload of standard input", "-T", "-", "{P}/echo/up", input: "streamed"),
            Row("an upload by POST", "-X", "POST", "-T", "data.bin", "{P}/echo/up"),
            Row("data without its length", "-H", "Transfer-Encoding: chunked", "-d", "x=y", "{P}/echo"),
            Row("a redirect that is not followed", "-w", "%{http_code} %{redirect_url}", "{P}/redirect?to=/echo"),
            Row("a redirect", "-L", "{P}/redirect?to=/echo"),
            Row("a redirect without a target", "-L", "-w", "[%{redirect_url}]", "{P}/nowhere"),
            Row("redirects with their heads", "-i", "-L", "{P}/redirect?to=/chunked/1"),
            Row("a redirect of a POST, 302", "-L", "-d", "x", "{P}/redirect?to=/echo"),
            Row("a form that a redirect drops", "-L", "-w", "%{size_upload}", "-F", "a=b", "{P}/redirect?to=/echo"),
            Row("a redirect of a POST, 307", "-L", "-d", "x", "{P}/redirect?to=/echo&status=307"),
            Row("a redirect of a PUT, 303", "-L", "-T", "lines.txt", "{P}/redirect?to=/echo&status=303"),
            Row("a redirect of an upload, 308", "-L", "-T", "lines.txt", "{P}/redirect?to=/echo&status=308"),
            Row("a redirect of a HEAD", "-L", "-I", "{P}/redirect?to=/chunked/1"),
            Row("a redirect away drops credentials", "-L", "-u", "me:x", "{P}/redirect?to={S}/echo/away"),
            Row("too many redirects", "-L", "--max-redirs", "2", "{P}/loop"),
            Row("no redirects allowed", "-L", "--max-redirs", "0", "{P}/loop"),
            Row("a redirect to a file", "-L", "{P}/redirect?to=file:///etc/passwd"),
            Row("an error status", "{P}/status/404"),
            Row("an error status that fails", "-f", "{P}/nothing"),
            Row("an error status that fails with its body", "--fail-with-body", "{P}/nothing"),
            Row("no content", "-i", "{P}/status/204"),
            Row("not modified", "-i", "{P}/status/304"),
            Row("a file", "-o", "out.txt", "{P}/chunked/3"),
            Row("files in their order", "-o", "1.txt", "-o", "2.txt", "{P}/chunked/1", "{P}/chunked/2"),
            Row("a file with its head", "-i", "-o", "out.txt", "{P}/chunked/3"),
            Row("an empty file", "-o", "out.txt", "{P}/bytes/0"),
            Row("a file named as in the URL", "-O", "{P}/echo/name.txt?x=y"),
            Row("a cluster of options", "-sSLo", "out.txt", "{P}/redirect?to=/chunked/2"),
            Row("a cluster with its value", "-sSLoout.txt", "{P}/redirect?to=/chunked/2"),
            Row("an output file in a missing folder", "-o", "no/where.txt", "{P}/chunked/1"),
            Row("heads in a file", "-D", "heads.txt", "-L", "{P}/redirect?to=/chunked/1"),
            Row("a download that resumes", "-C", "-", "-o", "part.txt", "{P}/ranged"),
            Row("a download that resumes at a given byte", "-C", "3", "{P}/ranged"),
            Row("options behind the URL", "{P}/echo", "-X", "PURGE"),
            Row("options end at --", "-X", "PURGE", "--", "{P}/echo"),
            Row("variables of the transfer", "-w", Row.numbers, "-d", "12345", "{P}/chunked/3"),
            Row("variables of the request", "-A", "x", "-w", Row.moreNumbers, "{P}/chunked/3"),
            Row("request with a body", "-A", "x", "-w", Row.moreNumbers, "-d", "12345", "{P}/chunked/3"),
            Row("request of a redirect", "-A", "x", "-L", "-w", Row.moreNumbers, "{P}/redirect?to=/chunked/3"),
            Row(
                "requests with a body that a redirect drops",
                "-A",
                "x",
                "-L",
                "-w",
                Row.moreNumbers,
                "-d",
                "12345",
                "{P}/redirect?to=/chunked/3"
            ),
            Row("the variable of a trusted certificate", "-A", "x", "-w", "%{ssl_verify_result}", "{S}/status/200"),
            Row("an HTTP/1.0 response", "-i", "-w", Row.numbers, "{P}/old"),
            Row("variables of a redirect", "-L", "-w", Row.numbers, "{P}/redirect?to=/chunked/3"),
            Row("header variables", "-w", "%header{content-type}|%header{nothing}|%%|\\t|\\\\|%{", "{P}/chunked/1"),
            Row(
                "the numbers of URLs of two parts",
                "-w",
                "%{urlnum}",
                "{P}/echo/1",
                "{P}/echo/2",
                "--next",
                "-s",
                "-w",
                "%{urlnum}",
                "{P}/echo/3"
            ),
            Row("backslashes", "-w", "a\\\\nb\\%{http_code}c\\", "{P}/chunked/1"),
            Row("an unknown variable", "-w", "[%{nonsense}]", "{P}/chunked/1"),
            Row("text for errors only", "-w", "a%{onerror}b", "{P}/chunked/1"),
            Row("text for standard error", "-w", "a%{stderr}b%{stdout}c", "{P}/chunked/1"),
            Row("a closed port", "-w", "%{http_code} %{exitcode}", "http://127.0.0.1:1/"),
            Row("a body that is cut short", "{P}/cut"),
            Row("a chunked body that is cut short", "{P}/cut-chunk"),
            Row("a connection that is closed at once", "{P}/close"),
            Row("a connection that is reset", "{P}/reset"),
            Row("more than Content-Length", "{P}/long"),
            Row("a header without a colon", "{P}/colon"),
            Row("a broken gzip", "--compressed", "{P}/badzip"),
            Row("a coding that is not known", "--compressed", "{P}/unknownzip"),
            Row("a response that never comes", "-m", "1", "{P}/never"),
            Row("an untrusted certificate", "{U}/echo"),
            Row("an untrusted certificate with -k", "-k", "{U}/status/200"),
            Row("dot segments as they are", "--path-as-is", "{P}/a/../echo/./x"),
            Row("a POST that stays one, 302", "-L", "--post302", "-d", "x", "{P}/redirect?to=/echo"),
            Row("a POST that stays one, 303", "-L", "--post303", "-d", "x", "{P}/redirect?to=/echo&status=303"),
            Row("a scheme that is not allowed", "--proto", "=https", "{P}/echo"),
            Row("a redirect to a scheme that is not allowed", "-L", "--proto-redir", "=https", "{P}/redirect?to=/echo"),
            Row("a default scheme", "--proto-default", "http", "127.0.0.1:{PORT}/echo"),
            Row("a length that is ignored", "--ignore-content-length", "{P}/long"),
            Row("a retry", "--retry", "1", "--retry-delay", "1", "{P}/status/503"),
            Row(
                "retries without time",
                "--retry",
                "3",
                "--retry-delay",
                "2",
                "--retry-max-time",
                "1",
                "{P}/status/503"
            ),
            Row(
                "a retry of a refused connection",
                "--retry",
                "1",
                "--retry-delay",
                "1",
                "--retry-connrefused",
                "http://127.0.0.1:1/"
            ),
            Row("a rate", "--rate", "1000/s", "{P}/echo/1", "{P}/echo/2"),
            Row("a form with escapes", "--form-escape", "-F", "a\"b=c", "{P}/echo"),
            Row("an empty URL", ""),
            Row("a URL with a space", "http://a b/"),
            Row("a URL with a bad port", "http://127.0.0.1:99999/"),
            Row("an unknown scheme", "foo://127.0.0.1/"),
            Row("an invalid --resolve", "--resolve", "garbage", "{P}/echo"),
            Row("an upload of a missing file", "-T", "nothing.txt", "{P}/echo"),
            Row("a missing file of roots", "--cacert", "nothing.pem", "{S}/echo"),
        ]

        @Test func meansTheSame() async throws {
            // Each program has its own servers, so that both can run at the same time.
            let (ours, theirs) = (try await Stage(), try await Stage())
            for row in Self.rows {
                // -q: no ~/.curlrc. -s: no progress meter.
                let curl = ["-q", "-s", "-S"] + (row.curlArguments ?? row.arguments)
                async let one = ours.run(CommandRun.beeline, arguments: row.arguments, input: row.input)
                async let other = theirs.run("/usr/bin/curl", arguments: curl, input: row.input)
                let (beeline, expected) = (try await one, try await other)
                #expect(beeline.run.status == expected.run.status, "\(row.what): \(beeline.run.errors)")
                #expect(beeline.run.text == expected.run.text, "\(row.what)")
                #expect(beeline.requests == expected.requests, "\(row.what)")
                #expect(beeline.files == expected.files, "\(row.what)")
            }
            await ours.stop()
            await theirs.stop()
        }

        /// The servers for one of the two programs.
        private struct Stage {
            let lab: CommandLab
            /// A site whose certificate has an untrusted issuer.
            let stranger: LoopbackOrigin

            init() async throws {
                lab = try await CommandLab { try await CurlComparisonTests.serve($0) }
                stranger = try await LoopbackOrigin.start(
                    tls: ServerTLS(try TestAuthority(name: "stranger").certificate(for: "u.test")),
                    handler: Routes.standard
                )
            }

            func run(_ program: String, arguments: [String], input: String) async throws -> Side {
                let common = [
                    "--resolve", "a.test:\(lab.site.port):127.0.0.1", "--resolve", "u.test:\(stranger.port):127.0.0.1",
                    "--cacert", "\(lab.folder.path)/ca.pem",
                ]
                let arguments = arguments.map { text in
                    text.replacing("{P}", with: "http://127.0.0.1:\(lab.plain.port)")
                        .replacing("{PORT}", with: "\(lab.plain.port)")
                        .replacing("{S}", with: "https://a.test:\(lab.site.port)")
                        .replacing("{U}", with: "https://u.test:\(stranger.port)")
                }
                return try await Side(program, arguments: common + arguments, input: input, lab: lab)
            }

            func stop() async {
                await stranger.stop()
                await lab.stop()
            }
        }

        /// The effects of one of the two programs: its output, the requests that arrived and the files that it wrote.
        private struct Side {
            var run: CommandRun
            var requests: [String]
            var files: [String: String]

            init(_ program: String, arguments: [String], input: String, lab: CommandLab) async throws {
                let folder = try Folder()
                let before = [
                    "lines.txt": "one\r\ntwo\n", "data.bin": "\0\u{1}\u{2}", "headers.txt": "X-One: 1\nX-Two: 2\n",
                    "part.txt": "012", "cookies.hdr": "Set-Cookie: h=1; Domain=127.0.0.1; Path=/\n",
                    "cookies.txt": "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tn\tv\n",
                ]
                for (name, text) in before { try folder.write(text, to: name) }
                let seen = (lab.plain.requests.count, lab.site.requests.count)
                run = try await CommandRun.run(program, arguments, in: folder, input: Data(input.utf8))
                let came = lab.plain.requests.dropFirst(seen.0) + lab.site.requests.dropFirst(seen.1)
                requests = came.map { Self.text($0, lab) }
                files = [:]
                for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
                where !name.hasPrefix("run-") {
                    let text = try folder.text(name)
                    if before[name] != text { files[name] = Self.withoutVariance(text, lab) }
                }
                run.output = Data(Self.withoutVariance(run.text, lab).utf8)
            }

            /// A request without the parts that may differ: the name of the agent, a form's boundary, the supported codings,
            /// and `Expect: 100-continue` of curl's uploads. The fields are sorted; their order has no meaning (RFC 9110
            /// §5.3).
            private static func text(_ request: ReceivedRequest, _ lab: CommandLab) -> String {
                let fields = request.fields.filter { $0.name != .expect }.map { field in
                    "\(field.name.canonicalName): \(field.name == .acceptEncoding ? "CODINGS" : field.value)"
                }.sorted()
                let head =
                    "\(request.method.rawValue) \(request.target) \(request.version)\n\(fields.joined(separator: "\n"))"
                return withoutVariance(head + "\n\n" + request.text, lab)
            }

            private static func withoutVariance(_ text: String, _ lab: CommandLab) -> String {
                // Boundaries have 22 random characters since curl 8.3, and had 16 before: bodies of forms have other lengths.
                let form = text.replacing(#/-{24}[0-9A-Za-z]{16,22}/#, with: "BOUNDARY")
                let lengths =
                    form == text ? text : form.replacing(#/content-length: [0-9]+|"bodySize":[0-9]+/#, with: "LENGTH")
                return lengths.replacing("\(lab.plain.port)", with: "PLAIN").replacing(
                    "\(lab.site.port)",
                    with: "SECURE"
                )
                .replacing(#/curl\/[0-9.]+|Beeline\/[0-9.]+/#, with: "AGENT")
                .replacing(#/"bodyHash":"[0-9a-f]+"/#, with: "HASH")
                .replacing(#/"connection":[0-9]+/#, with: "CONNECTION")
                .replacing(#/"headers":\[\[.*?\]\]/#, with: "HEADERS")
            }
        }

        private static func serve(_ request: ReceivedRequest) async throws -> Reply {
            let whole = "0123456789"
            switch request.path {
            case "/ranged":
                guard let range = request.fields[.range], let start = Int(range.dropFirst(6).prefix { $0 != "-" })
                else {
                    return .text(whole)
                }
                let end = range.split(separator: "-").dropFirst().last.flatMap { Int($0) } ?? 9
                var reply = Reply.text(String(whole.dropFirst(start).prefix(end - start + 1)), status: .partialContent)
                reply.fields[.contentRange] = "bytes \(start)-\(end)/10"
                return reply
            case "/zipped": return .text("plain").compressed(.gzip)
            case "/zipped-twice":
                var reply = Reply.text("plain").compressed(.deflate).compressed(.gzip)
                reply.fields[.contentEncoding] = "deflate, gzip"
                return reply
            case "/old":
                return .raw(
                    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
                    ending: .keepAlive
                )
            case "/unknownzip": return .text("whatever").adding(.contentEncoding, "compress, x-other")
            case "/badzip": return .bytes(Array("this is no gzip".utf8)).adding(.contentEncoding, "gzip")
            case "/hop-with-cookie": return .redirect(to: "/echo").adding(.setCookie, "id=7; Path=/")
            case "/nowhere": return .redirect(to: "")
            case "/loop": return .redirect(to: "/loop")
            case "/cut": return Reply(fields: [.contentLength: "10"], body: ["half"], ending: .hangUp)
            case "/cut-chunk": return Reply(body: ["half"], framing: .chunked, ending: .hangUp)
            case "/close": return .raw(ending: .hangUp)
            case "/reset": return .raw(ending: .reset)
            case "/long": return Reply(fields: [.contentLength: "3"], body: ["too long"], ending: .hangUp)
            case "/colon": return .raw("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", ending: .hangUp)
            case "/never": return .raw(.wait(Gate()))
            default: return try await Routes.standard(request)
            }
        }
    }
}

extension ProcessTests.CurlComparisonTests.Row {
    /// All variables whose values depend only on the exchange.
    static let numbers = """
        %{http_code} %{response_code} %{http_version} %{content_type} %{method} %{num_redirects} %{num_connects} \
        %{num_headers} %{remote_ip} %{remote_port} %{size_download} %{size_upload} %{size_header} %{url_effective} \
        %{redirect_url} %{urlnum} %{exitcode} %{errormsg} %{filename_effective}\\n
        """

    /// Variables of the request, and of the address that it was sent from.
    static let moreNumbers = "%{size_request} %{local_ip} %{http_connect} %{ssl_verify_result}\\n"
}
