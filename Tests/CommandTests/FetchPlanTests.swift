// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import Foundation
import Testing

@testable import BeelineCommand

/// Arguments, environment and configuration file are turned into one plan, without network access.
struct FetchPlanTests {
    // MARK: Secrets

    @Test(arguments: [
        ["-u", "me:s3cret\r"], ["-u", "me:s3cret\n"], ["--oauth2-bearer", "s3cret\r"],
        ["-H", "Authorization: Bearer s3cret\r"], ["-H", "Authorization: s3cret\u{7f}"], ["-H", "s3cret\r"],
        ["-H", "X-Api-Key s3cret"], ["-H", "X-Api-Key=s3cret"],
        ["-H", "s3cret"], ["-H", "{s3cret: x"], ["-u", "s3cret"],
        ["-b", "id=s3cret\r"], ["-A", "s3cret\r"], ["-e", "http://a.test/s3cret\r"], ["-F", "s3cret"],
        ["-F", "password=s3cret;more"], ["-F", "f=x;type=s3cret\r"], ["-x", "bogus://me:s3cret\r@proxy.test"],
    ])
    func anErrorQuotesNoSecret(_ options: [String]) throws {
        let failure = #expect(throws: CommandFailure.self) { try plan(options + ["http://a.test/"]) }
        #expect(failure?.message.contains("s3cret") == false, "\(failure?.message ?? "")")
    }

    @Test(arguments: ["X-Api-Key;s3cret", "X-Api-Key; s3cret"])
    func aWarningQuotesNoSecret(_ line: String) throws {
        let plan = try plan("-H", line, "http://a.test/")
        #expect(plan.warnings.count == 1 && plan.warnings.first?.contains("s3cret") == false)
    }

    // MARK: The client

    @Test func withoutOptionsTheClientIsTheLibrarysButForCurlsHabits() throws {
        let plan = try plan("http://a.test/")
        let client = plan.client
        #expect(client.upstreams == UpstreamSpec.standard)
        #expect(client.redirects == .off && !client.decodesContent && client.isHTTPDNSEnabled)
        #expect(client.limits.connect == .seconds(10) && client.limits.idle == nil && client.limits.total == nil)
        #expect(plan.hasCookies && client.pinned.isEmpty && client.tls == TLSSettings())
        #expect(client.proxies == .none)
    }

    @Test func optionsSetTheClient() throws {
        let plan = try plan(
            "-L",
            "--max-redirs",
            "3",
            "-k",
            "--connect-timeout",
            "1.5",
            "-m",
            "7",
            "-6",
            "--no-httpdns",
            "--no-https-records",
            "--allow-local-answers",
            "--compressed",
            "--no-cookies",
            "--dns",
            "system",
            "--dns",
            "dnspod:192.0.2.1:5353",
            "--cacert",
            "ca.pem",
            "-x",
            "proxy.test:3128",
            "--noproxy",
            "b.test",
            "https://a.test/"
        )
        let client = plan.client
        #expect(client.redirects == .follow(limit: 3))
        #expect(!client.resolver.usesHTTPSRecords && ClientConfiguration().resolver.usesHTTPSRecords)
        #expect(!client.tls.verifiesCertificate && client.tls.rootFiles == ["ca.pem"] && client.tls.trustsSystemRoots)
        #expect(client.limits.connect == .milliseconds(1500) && client.limits.total == .seconds(7))
        #expect(client.resolver.families == .v6 && !client.isHTTPDNSEnabled && client.resolver.check.allowsLocalAnswers)
        #expect(client.decodesContent && !plan.hasCookies)
        #expect(
            client.upstreams == [.system, .dnspod(at: [try Endpoint(parsing: "192.0.2.1:5353", defaultPort: nil)])]
        )
        let proxied = Origin(scheme: .https, host: try Host("a.test"))
        guard case .proxy(let proxy) = client.proxies.route(to: proxied) else {
            Issue.record("no proxy")
            return
        }
        #expect("\(proxy)" == "http://proxy.test:3128")
        #expect(client.proxies.route(to: Origin(scheme: .https, host: try Host("www.b.test"))) == .direct)
    }

    @Test(arguments: [
        ("https://p.test", "https://p.test"), ("https://me:x@p.test:8443", "https://p.test:8443"),
        ("socks5h://p.test", "socks5h://p.test:1080"), ("socks5://[::1]:9050", "socks5h://[::1]:9050"),
    ])
    func everyKindOfProxyIsTaken(text: String, expected: String) throws {
        let client = try plan("-x", text, "https://a.test/").client
        guard case .proxy(let proxy) = client.proxies.route(to: Origin(scheme: .https, host: try Host("a.test"))) else {
            Issue.record("no proxy")
            return
        }
        #expect("\(proxy)" == expected)
    }

    @Test func noLimitOfRedirectsIsMinusOne() throws {
        #expect(try plan("-L", "--max-redirs", "-1", "http://a.test/").client.redirects == .follow(limit: .max))
    }

    @Test func pinsTakeSeveralAddressesOfBothFamilies() throws {
        let client = try plan(
            "--resolve",
            "a.test:443:192.0.2.1,[2001:db8::1]",
            "--resolve",
            "+b.test:80:2001:db8::2",
            "http://a.test/"
        ).client
        #expect(
            client.pinned[.init(try Host("a.test"), port: 443)]?.map(\.description) == ["192.0.2.1", "2001:db8::1"]
        )
        #expect(client.pinned[.init(try Host("b.test"), port: 80)]?.map(\.description) == ["2001:db8::2"])
        let one = try plan("-4", "--resolve", "a.test:443:[2001:db8::1],192.0.2.1", "http://a.test/").client
        #expect(one.pinned[.init(try Host("a.test"), port: 443)]?.map(\.description) == ["192.0.2.1"])
    }

    @Test func theEnvironmentNamesAProxyThatAnEmptyOneSwitchesOff() throws {
        var defaults = Defaults(environment: ["https_proxy": "http://p.test:1", "no_proxy": "b.test"])
        let origin = Origin(scheme: .https, host: try Host("a.test"))
        #expect(try plan(defaults, "https://a.test/").client.proxies.route(to: origin) != .direct)
        #expect(try plan(defaults, "-x", "", "https://a.test/").client.proxies.route(to: origin) == .direct)
        #expect(try plan(defaults, "--noproxy", "*", "https://a.test/").client.proxies.route(to: origin) == .direct)
        defaults.proxy = ""
        #expect(try plan(defaults, "https://a.test/").client.proxies.route(to: origin) == .direct)
    }

    @Test func argumentsWinOverDefaults() throws {
        var defaults = Defaults(dns: ["system"], jar: "default.txt", cacert: ["a.pem"], userAgent: "default")
        defaults.httpdns = false
        defaults.connectTimeout = 3
        let byDefault = try plan(defaults, "http://a.test/")
        #expect(byDefault.client.upstreams == [.system] && byDefault.jar?.path == "default.txt")
        #expect(byDefault.client.userAgent == "default" && byDefault.client.tls.rootFiles == ["a.pem"])
        #expect(!byDefault.client.isHTTPDNSEnabled && byDefault.client.limits.connect == .seconds(3))
        let line = ["--dns", "dnspod", "--jar", "j.json", "-A", "own", "--cacert", "b.pem", "--connect-timeout", "4"]
        let byArgument = try plan(defaults, line + ["http://a.test/"])
        #expect(byArgument.client.upstreams == [.dnspod()] && byArgument.jar?.path == "j.json")
        #expect(byArgument.jar?.format == .json && byArgument.client.userAgent == "own")
        #expect(byArgument.client.tls.rootFiles == ["b.pem"] && byArgument.client.limits.connect == .seconds(4))
        #expect(try plan(defaults, "--no-cookies", "http://a.test/").jar == nil)
    }

    // MARK: The transfers

    @Test func piecesOfDataAreJoinedInTheOrderOfTheLine() throws {
        let line = [
            "-d", "a=1", "--data-urlencode", "b=x y", "--data-binary", "@two", "--data-raw", "@c", "http://a.test/",
        ]
        let transfer = try #require(try plan(line).transfers().first)
        #expect(transfer.body == .bytes(Array("a=1&b=x+y&1\r\n2\n&@c".utf8)))
        #expect(transfer.request.method == .post)
        #expect(transfer.request.headerFields[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test("no & follows empty data, as in curl", arguments: [("", "a=b", "a=b"), ("a", "", "a&")])
    func emptyData(first: String, second: String, body: String) throws {
        let line = ["-d", first, "-d", second, "http://a.test/"]
        #expect(try plan(line).transfers()[0].body == .bytes(Array(body.utf8)))
        let url = try plan(["-G"] + line).transfers()[0].url.get()
        #expect("\(url)" == "http://a.test/?\(body)")
    }

    @Test func dataOfOneFileIsReadWhileItIsSent() throws {
        #expect(try plan("--data-binary", "@two", "http://a.test/").transfers()[0].body == .file("two"))
        #expect(try plan("--data-binary", "@pipe", "http://a.test/").transfers()[0].body == .bytes(Array("piped".utf8)))
        #expect(try plan("-T", "-", "http://a.test/").transfers()[0].body == .standardInput)
    }

    @Test func jsonIsAskedForAndSent() throws {
        let plan = try plan("--json", "{\"a\":", "--json", "1}", "http://a.test/")
        #expect(try plan.transfers()[0].body == .bytes(Array("{\"a\":1}".utf8)))
        #expect(try plan.transfers()[0].request.headerFields[.contentType] == "application/json")
        #expect(plan.client.accept == "application/json")
    }

    @Test func aHeaderReplacesWhatWouldBeSent() throws {
        let line = [
            "-H", "Accept: a/b", "-H", "Accept: c/d", "-H", "User-Agent:", "-H", "Host: h.test", "-H", "X: 1", "-H",
            "X: 2",
            "http://a.test/",
        ]
        let plan = try plan(line)
        #expect(try plan.transfers()[0].request.headerFields[values: .accept] == ["a/b", "c/d"])
        #expect(plan.client.userAgent == nil)
        #expect(try plan.transfers()[0].request.authority == "h.test")
        #expect(try plan.transfers()[0].request.headerFields[values: try #require(HTTPField.Name("X"))] == ["1", "2"])
    }

    @Test func aURLInAQueryIsNoScheme() throws {
        let url = try plan("example.com/login?next=https://a.example/").transfers()[0].url.get()
        #expect("\(url)" == "http://example.com/login?next=https://a.example/")
    }

    @Test func outputsPairWithURLs() throws {
        let turned = try self.plan("-O", "http://a.test/d/file.txt", "-o", "two", "http://a.test/x")
        #expect(try turned.transfers().map(\.output) == [.remoteFile("file.txt"), .file("two")])
        let plan = try plan("-o", "one", "-O", "http://a.test/x", "http://a.test/d/file.txt?q", "http://a.test/y")
        #expect(
            try plan.transfers().map(\.output) == [
                .file("one"), .remoteFile("file.txt"), .standardOutput(isNamed: false),
            ]
        )
        #expect(try self.plan("-o", "-", "http://a.test/").transfers()[0].output == .standardOutput(isNamed: true))
    }

    @Test func uploadsPairWithURLs() throws {
        let plan = try plan("-T", "two", "-T", "two", "http://a.test/d/", "http://a.test/d/?q", "http://a.test/e")
        #expect(
            try plan.transfers().map { "\($0.request.method.rawValue) \(try $0.url.get())" } == [
                "PUT http://a.test/d/two", "PUT http://a.test/d/?q", "GET http://a.test/e",
            ]
        )
        let none = try self.plan("-T", "", "-T", "two", "http://a.test/e", "http://a.test/d")
        #expect(try none.transfers().map(\.request.method) == [.get, .put])
        #expect(try self.plan("-T", "dir/a b", "http://a.test").transfers()[0].url.get().path == "/a%20b")
    }

    @Test func cookiesAreTextOrFiles() throws {
        let plan = try plan(
            "-b",
            "a=b",
            "-b",
            "file.txt",
            "-b",
            "c=d",
            "-c",
            "out.txt",
            "--jar",
            "both.txt",
            "http://a.test/"
        )
        #expect(try plan.transfers()[0].request.headerFields[.cookie] == "a=b; c=d")
        #expect(plan.cookieFiles.map(\.path) == ["file.txt"])
        #expect(plan.cookieJar?.path == "out.txt" && plan.jar?.path == "both.txt")
    }

    @Test func aPasswordThatIsMissingIsAskedFor() throws {
        var files = Self.files
        files.askPassword = { _ in Array("typed".utf8) }
        let plan = try FetchPlan(try command(["-u", "me", "http://a.test/"]), defaults: Defaults(), files: files)
        #expect(try plan.transfers()[0].request.headerFields[.authorization] == "Basic bWU6dHlwZWQ=")
        #expect(throws: CommandFailure.self) { try self.plan("-u", "me", "http://a.test/") }
    }

    @Test func credentialsGoTheWayThatIsNamed() throws {
        let digest = Credentials.digest(user: "me", password: "p:w")
        #expect(try plan("--digest", "-u", "me:p:w", "http://a.test/").transfers()[0].options.credentials == digest)
        #expect(try plan("--digest", "http://me:p%3Aw@a.test/").transfers()[0].options.credentials == digest)
        let any = try plan("--anyauth", "-u", "me:pw", "http://a.test/").transfers()[0]
        #expect(
            any.options.credentials == .any(user: "me", password: "pw")
                && any.request.headerFields[.authorization] == nil
        )
        for line in [["--basic", "--digest"], ["--digest", "--anyauth"], ["--anyauth", "--basic"]] {
            let options = try plan(line + ["-u", "me:pw", "http://a.test/"]).transfers()[0].options
            #expect(options.credentials == .any(user: "me", password: "pw"), "\(line)")
        }
        let basic = try plan("--basic", "-u", "me:pw", "http://a.test/").transfers()[0]
        #expect(basic.options.credentials == nil && basic.request.headerFields[.authorization] == "Basic bWU6cHc=")
        let token = try plan("--oauth2-bearer", "t0k", "http://a.test/").transfers()[0]
        #expect(token.request.headerFields[.authorization] == "Bearer t0k")
    }

    // MARK: Names

    @Test("parts of --next share the standard upstreams if one of them needs names, in any order")
    func sharedUpstreams() throws {
        let (address, name) = ("http://127.0.0.1/", "http://a.test/")
        for (line, needsNone) in [
            ([address, "--next", address], true), ([address, "--next", name], false),
            ([name, "--next", address], false), (["--connect-to", "::b.test:", address], false),
        ] {
            let parts = try FetchParser.fetches(line, files: Self.files)
            let session = try FetchSession(parts, defaults: Defaults(), files: Self.files)
            for part in session.parts { #expect(session.needsNoNames(part.clientKey) == needsNone, "\(line)") }
        }
    }

    @Test("parts that ask no upstream share a client, even if they allow different answers, and other parts do not")
    func sharedClients() throws {
        let (address, name, allow) = ("http://127.0.0.1/", "http://a.test/", "--allow-local-answers")
        for (line, isShared) in [
            ([allow, address, "--next", address], true), ([allow, name, "--next", name], false),
            ([allow, "-L", address, "--next", "-L", address], false), ([allow, address, "--next", name], true),
        ] {
            let parts = try FetchParser.fetches(line, files: Self.files)
            let session = try FetchSession(parts, defaults: Defaults(), files: Self.files)
            #expect((Set(session.parts.map(\.clientKey)).count == 1) == isShared, "\(line)")
            #expect(session.parts[0].client.resolver.check.allowsLocalAnswers != isShared, "\(line)")
        }
    }

    // MARK: Errors

    /// A command line that is refused, with its exit code and a part of the message.
    struct Wrong: CustomTestStringConvertible, Sendable {
        let status: CommandStatus
        let says: String
        let line: [String]

        init(_ status: CommandStatus, says: String, _ line: String...) {
            self.status = status
            self.says = says
            self.line = line
        }

        var testDescription: String { line.joined(separator: " ").debugDescription }
    }

    static let wrong: [Wrong] = [
        Wrong(.usage, says: "line break", "-H", "X: a\r\nInjected: 1", "http://a.test/"),
        Wrong(.usage, says: "line break", "-H", "X\nInjected: 1", "http://a.test/"),
        Wrong(.usage, says: "line break", "-H", "X: a\0b", "http://a.test/"),
        Wrong(.usage, says: "Name: value", "-H", "X Y: 1", "http://a.test/"),
        Wrong(.usage, says: "Name: value", "-H", "X; a: b", "http://a.test/"),
        Wrong(.usage, says: "-C excludes -d", "-C", "3", "-d", "x", "http://a.test/"),
        Wrong(.usage, says: "Name: value", "-H", "no colon", "http://a.test/"),
        Wrong(.usage, says: "Name: value", "-H", "@evil", "http://a.test/"),
        Wrong(.usage, says: "not a method", "-X", "GET / HTTP/1.1\r\nX:", "http://a.test/"),
        Wrong(.usage, says: "not a method", "-X", "", "http://a.test/"),
        Wrong(.usage, says: "not a method", "-X", "CONNECT", "http://a.test/"),
        Wrong(.usage, says: "-A", "-A", "a\nb", "http://a.test/"),
        Wrong(.usage, says: "-e", "-e", "a\rb", "http://a.test/"),
        Wrong(.usage, says: "-b", "-b", "a=b\r\nX: 1", "http://a.test/"),
        Wrong(.usage, says: "-u", "-u", "me:a\nb", "http://a.test/"),
        Wrong(.usage, says: "exclude", "-u", "a:b", "--oauth2-bearer", "t", "http://a.test/"),
        Wrong(.usage, says: "--oauth2-bearer", "--oauth2-bearer", "a\r\nb", "http://a.test/"),
        Wrong(.usage, says: "-F", "-F", "a=b;type=x\r\ny", "http://a.test/"),
        Wrong(.usage, says: "name=value", "-F", "nothing", "http://a.test/"),
        Wrong(.usage, says: "encoder", "-F", "a=@two;encoder=x", "http://a.test/"),
        Wrong(.usage, says: "0-499", "-r", "a-b", "http://a.test/"),
        Wrong(.usage, says: "-C", "-C", "x", "http://a.test/"),
        Wrong(.usage, says: "exclude", "-C", "1", "-r", "1-2", "http://a.test/"),
        Wrong(.usage, says: "-C and -J", "-C", "-", "-OJ", "http://a.test/"),
        Wrong(.usage, says: "need one URL", "--etag-save", "tag", "http://a.test/", "http://b.test/"),
        Wrong(.usage, says: "need one URL", "--etag-compare", "tag", "http://a.test/", "http://b.test/"),
        Wrong(.usage, says: "choose one", "-d", "x", "-F", "a=b", "http://a.test/"),
        Wrong(.usage, says: "choose one", "-d", "x", "-T", "two", "http://a.test/"),
        Wrong(.usage, says: "choose one", "-I", "-d", "x", "http://a.test/"),
        Wrong(.usage, says: "-m -1: write a number of seconds, 0 or more", "-m", "-1", "http://a.test/"),
        Wrong(.usage, says: "-m -0.5: write a number of seconds", "-m", "-0.5", "http://a.test/"),
        Wrong(.usage, says: "seconds, less than 3155760000", "-m", "99999999999", "http://a.test/"),
        Wrong(.usage, says: "write 0 to 2147483647", "--retry", "99999999999", "http://a.test/"),
        Wrong(.usage, says: "-m", "-m", "1e300", "http://a.test/"),
        Wrong(.usage, says: "-m", "-m", "nan", "http://a.test/"),
        Wrong(.usage, says: "--max-redirs", "--max-redirs", "-2", "http://a.test/"),
        Wrong(.usage, says: "--retry", "--retry", "-1", "http://a.test/"),
        Wrong(.usage, says: "nobody:1", "--dns", "nobody:1", "http://a.test/"),
        Wrong(.usage, says: "SQLite", "-c", "jar.sqlite", "http://a.test/"),
        Wrong(.malformedOption, says: "HOST:PORT:ADDR", "--resolve", "a.test:443", "http://a.test/"),
        Wrong(.malformedOption, says: "HOST:PORT:ADDR", "--resolve", "a.test:x:192.0.2.1", "http://a.test/"),
        Wrong(.malformedOption, says: "HOST:PORT:ADDR", "--resolve", "a.test:443:b.test", "http://a.test/"),
        Wrong(.malformedOption, says: "HOST:PORT:ADDR", "--resolve", "a.test:443:192.0.2.1,", "http://a.test/"),
        Wrong(.hostUnresolved, says: "no IPv6 address", "-6", "--resolve", "a.test:443:192.0.2.1", "http://a.test/"),
        Wrong(.unreadableRoots, says: "nothing.pem", "--cacert", "nothing.pem", "http://a.test/"),
        Wrong(.unreadableRoots, says: "PEM", "--cacert", "two", "http://a.test/"),
        Wrong(.connectFailed, says: "socks9", "-x", "socks9://x", "http://a.test/"),
        Wrong(.proxyUnresolved, says: "…@a b", "-x", "http://u:secret@a b", "http://a.test/"),
        Wrong(.readFailed, says: "nothing", "-d", "@nothing", "http://a.test/"),
        Wrong(.malformedURL, says: "space", "http://a b/"),
        Wrong(.malformedURL, says: "CR", "http://a.test/x\r\nInjected: 1"),
        Wrong(.malformedURL, says: "port", "http://a.test:0/"),
        Wrong(.malformedURL, says: "scheme", "ht!tp://a.test/"),
        Wrong(.unsupportedProtocol, says: "ftp", "ftp://a.test/"),
        Wrong(.unsupportedProtocol, says: "the scheme foo is not http or https", "foo://a.test/"),
        Wrong(.unsupportedProtocol, says: "http and https", "ws://a.test/"),
        Wrong(.malformedURL, says: "space", "http://good.test/", "http://a b/"),
    ]

    @Test(arguments: wrong)
    func isRefusedBeforeAnythingIsSent(_ row: Wrong) throws {
        let failure = #expect(throws: CommandFailure.self) {
            // A URL that cannot be requested fails only its own transfer.
            for transfer in try plan(row.line).transfers() { _ = try transfer.url.get() }
        }
        #expect(failure?.status == row.status && failure?.message.contains(row.says) == true, "\(failure as Any)")
        #expect(failure?.message.contains("\n") == false && failure?.message.contains("secret") == false)
    }

    // MARK: Help

    private func plan(_ line: String...) throws -> FetchPlan { try plan(Defaults(), line) }
    private func plan(_ line: [String]) throws -> FetchPlan { try plan(Defaults(), line) }
    private func plan(_ defaults: Defaults, _ line: String...) throws -> FetchPlan { try plan(defaults, line) }
    private func plan(_ defaults: Defaults, _ line: [String]) throws -> FetchPlan {
        try FetchPlan(try command(line), defaults: defaults, files: Self.files)
    }

    private func command(_ line: [String]) throws -> FetchArguments {
        try #require(try FetchParser.fetches(line, files: Self.files).first)
    }

    /// Files in memory.
    static let files: InputFiles = {
        let regular = [
            "two": "1\r\n2\n", "evil": "X: 1\nInjected\n", "a.pem": "-----BEGIN CERTIFICATE-----",
            "b.pem": "-----BEGIN CERTIFICATE-----", "ca.pem": "-----BEGIN CERTIFICATE-----",
        ]
        return InputFiles(
            contents: { path in
                guard let text = path == "pipe" ? "piped" : regular[path] else {
                    throw FileDescriptor.Failure(code: ENOENT)
                }
                return Array(text.utf8)
            },
            size: { regular[$0].map { Int64($0.utf8.count) } },
            askPassword: { _ in nil }
        )
    }()
}

extension FetchPlan {
    /// All transfers of a plan.
    func transfers() throws -> [Transfer] {
        var queue = TransferQueue(self, files: FetchPlanTests.files)
        var transfers: [Transfer] = []
        while let transfer = try queue.next() { transfers.append(transfer) }
        return transfers
    }
}

extension FetchParser {
    /// The parts of a line that fetches. A line of help, or of the version, is an error.
    static func fetches(_ line: [String], files: InputFiles) throws -> [FetchArguments] {
        guard case .fetch(let parts) = try parse(line, files: files) else {
            throw CommandFailure(.usage, "no fetch: \(line)")
        }
        return parts
    }
}
