// SPDX-License-Identifier: Apache-2.0

import Beeline
import Names
import Testing

@testable import BeelineCommand

/// The options for redirects, logins, proxies, TLS and sockets become the configuration of the client.
struct NetworkOptionTests {
    private static let files: InputFiles = {
        let texts = [
            "rc": "machine a.test login me password own", "broken": "machine",
            "replaced": "machine a.test login me password \u{FFFD} machine b.test login you password own",
            "key.pem": "-----BEGIN PUBLIC KEY-----\nAAECAw==\n-----END PUBLIC KEY-----\n",
            "heads": "A: 1\nB: 2\n",
        ]
        return InputFiles(
            contents: { path in
                guard let text = texts[path] else { throw FileDescriptor.Failure(code: 2) }
                return Array(text.utf8)
            },
            size: { texts[$0].map { Int64($0.utf8.count) } },
            askPassword: { _ in nil }
        )
    }()

    private func plan(_ line: String..., environment: [String: String] = [:]) throws -> FetchPlan {
        try plan(words: line, environment: environment)
    }

    private func plan(words line: [String], environment: [String: String] = [:]) throws -> FetchPlan {
        let parts = try FetchParser.fetches(line + ["http://a.test/"], files: Self.files)
        var defaults = Defaults()
        defaults.environment = environment
        return try FetchPlan(try #require(parts.first), defaults: defaults, files: Self.files)
    }

    private func failure(_ line: String) -> CommandFailure? {
        #expect(throws: CommandFailure.self) {
            guard
                case .fetch(let parts) = try FetchParser.parse(
                    line.split(separator: " ").map(String.init),
                    files: Self.files
                )
            else { return }
            let plan = try FetchPlan(parts[0], defaults: Defaults(), files: Self.files)
            for transfer in try plan.transfers() { _ = try transfer.url.get() }
        }
    }

    // MARK: Redirects

    @Test func theMethodOfXStaysWithLocationAndObeysTheStatusWithFollow() throws {
        let location = try plan("-X", "PUT", "-d", "x", "-L", "--post301", "-e", "x;auto").client.redirectRules
        #expect(location.keepsMethod && location.countsAsPost && location.keepsPost == [301] && location.sendsReferer)
        #expect(location.keepsReferer)
        let follow = try plan("-X", "PUT", "--follow", "--max-redirs", "-1").client
        #expect(!follow.redirectRules.keepsMethod && follow.redirects == .follow(limit: .max))
        let trusted = try plan("--location-trusted")
        #expect(try trusted.transfers()[0].options.credentialsFollowRedirects && trusted.client.redirects != .off)
        #expect(try !plan("-L").transfers()[0].options.credentialsFollowRedirects)
    }

    @Test(arguments: [
        ("=https", "", ["https"]), ("-http", "", ["https"]), ("", "-http", ["https"]), ("all,-https", "", ["http"]),
        ("", "=ftp", []), ("-all,+http", "=http,https", ["http"]),
    ])
    func schemesAreReadFromLeftToRight(_ proto: String, _ redirects: String, _ expected: [String]) throws {
        let allowed = SchemeList.read([proto])
        let plan = allowed.intersection(SchemeList.read([redirects]))
        #expect(Set(plan.map(\.name)) == Set(expected))
        var urls = try URLPlan(FetchArguments(), data: nil, files: Self.files)
        urls.schemes = [.https]
        let failure = #expect(throws: CommandFailure.self) { try urls.url("http://a.test/", upload: nil) }
        #expect(failure?.status == .unsupportedProtocol)
    }

    // MARK: URLs

    @Test(
        arguments: [
            ("a.test/x", nil, "http://a.test/x"), ("http:/a.test", "q", "http://a.test/?q"),
            ("http:///a.test?a#f", "q=1", "http://a.test/?a&q=1#f"), ("https://a.test/?", "q", "https://a.test/?q"),
        ] as [(String, String?, String)]
    )
    func urlsAreCompleted(_ text: String, _ query: String?, _ expected: String) throws {
        var urls = try URLPlan(FetchArguments(), data: nil, files: Self.files)
        urls.query = query
        #expect(try urls.url(text, upload: nil).description == expected)
    }

    @Test func dotsStayWithPathAsIs() throws {
        var urls = try URLPlan(FetchArguments(), data: nil, files: Self.files)
        urls.keepsDots = true
        #expect(try urls.url("a.test/../b/./c", upload: nil).target == "/../b/./c")
    }

    // MARK: Logins

    @Test func aNetrcFileGivesWayToAnOptionalUser() throws {
        #expect(
            try plan("--netrc-file", "rc").transfers()[0].options.credentials == .basic(user: "me", password: "own")
        )
        #expect(try plan("-n", environment: ["NETRC": "rc"]).transfers()[0].options.credentials != nil)
        #expect(try plan("--netrc-file", "rc", "-u", "x:y").transfers()[0].options.credentials == nil)
        #expect(try plan("--netrc-optional").transfers()[0].options.credentials == nil)
        let digest = try plan("--netrc-file", "rc", "--digest").client.credentialSource?(HTTPURL("http://a.test/"))
        #expect(digest == .digest(user: "me", password: "own"))
        #expect(failure("-n --netrc-file none a.test")?.status == .readFailed)
        #expect(failure("--netrc-file broken a.test")?.status == .readFailed)
    }

    @Test func aNetrcLoginWithReplacedOctetsIsNotUsed() throws {
        for option in ["--netrc-file", "--netrc-optional --netrc-file"] {
            #expect(failure("\(option) replaced a.test")?.status == .usage)
            #expect(failure("\(option) replaced a.test b.test")?.message.contains("the login for a.test") == true)
        }
        // A redirect to the host gets no login.
        let source = try plan("--netrc-file", "replaced").client.credentialSource
        let (replaced, own) = (try source?(HTTPURL("http://a.test/")), try source?(HTTPURL("http://b.test/")))
        #expect(replaced == nil)
        #expect(own == .basic(user: "you", password: "own"))
    }

    // MARK: Proxies

    @Test func optionsCompleteTheProxy() throws {
        let line = [
            "-x", "proxy.test:8080", "-U", "me:p:w", "--proxy-anyauth", "-p", "--preproxy", "socks5h://first.test",
            "--proxy-header", "@heads", "--proxy-header", "User-Agent: x", "--proxy-insecure",
        ]
        let parts = try FetchParser.fetches(line + ["a.test"], files: Self.files)
        let proxy = try #require(try FetchPlan(parts[0], defaults: Defaults(), files: Self.files).client.proxies.http)
        #expect(proxy.user == "me" && proxy.password == "p:w" && proxy.waitsForChallenge && proxy.tunnelsPlainHTTP)
        #expect(proxy.preproxy?.origin.port == 1080 && proxy.tls?.verifiesCertificate == false)
        #expect(proxy.connectFields.map { "\($0.name): \($0.value)" } == ["A: 1", "B: 2", "User-Agent: x"])
        #expect(proxy.forwardedFields.count == 3)
    }

    @Test(
        "with --proxy-basic and --proxy-digest, the proxy chooses",
        arguments: [
            (["--proxy-basic", "--proxy-digest"], true, true), (["--proxy-digest"], false, false),
            (["--proxy-digest", "--proxy-anyauth"], true, true), (["--proxy-basic"], true, false),
        ]
    )
    func schemesOfTheProxy(line: [String], allowsBasic: Bool, waits: Bool) throws {
        let proxy = try #require(try plan(words: line + ["-x", "proxy.test", "-U", "me:pw"]).client.proxies.http)
        #expect(proxy.allowsBasic == allowsBasic && proxy.waitsForChallenge == waits)
    }

    @Test(
        "as in curl, the login of a proxy's URL comes before that of -U",
        arguments: [
            ("http://you:own@proxy.test", "you", "own"), ("http://you@proxy.test", "you", nil),
            ("socks5h://you:own@proxy.test", "you", "own"), ("http://proxy.test", "me", "pw"),
        ] as [(String, String, String?)]
    )
    func loginOfTheProxy(url: String, user: String, password: String?) throws {
        let proxy = try #require(try plan("-x", url, "-U", "me:pw").client.proxies.http)
        #expect(proxy.user == user && proxy.password == password)
    }

    @Test func socksOptionsAreProxies() throws {
        for option in ["--socks5", "--socks5-hostname"] {
            let proxy = try #require(try plan(option, "s.test").client.proxies.https)
            #expect(proxy.kind == .socks5 && proxy.origin.port == 1080 && proxy.preproxy == nil)
        }
        #expect(try plan("--proxy1.0", "p.test").client.proxies.http?.connectsWithHTTP10 == true)
        #expect(failure("--preproxy http://x -x p.test a.test")?.status == .proxyUnresolved)
    }

    // MARK: TLS

    @Test func optionsSetTLS() throws {
        let tls = try plan(
            "--tlsv1.2",
            "--tls-max",
            "1.2",
            "--ciphers",
            "X:AES128-SHA",
            "--curves",
            "x25519:prime256v1",
            "-k"
        ).client.tls
        #expect(tls.minVersion == .tls12 && tls.maxVersion == .tls12 && tls.cipherSuites == [.rsaWithAES128])
        #expect(tls.groups == [.x25519, .p256] && !tls.verifiesCertificate)
        #expect(try plan("--tls-max", "1.0").client.tls.minVersion == .tls10)
        let pin = PublicKeyPin(publicKey: [0, 1, 2, 3])
        #expect(try plan("--pinnedpubkey", "key.pem").client.tls.pins.first?.pins == [pin])
        #expect(try plan("--pinnedpubkey", "\(pin);\(pin)").client.tls.pins.first?.pins == [pin])
        let (path, passphrase) = TLSSettings.splitCert("c\\:d.pem:pa:ss")
        #expect(path == "c:d.pem" && passphrase == "pa:ss")
    }

    @Test(arguments: [
        ("--tlsv1.3 --tls-max 1.2", CommandStatus.usage), ("--tls-max 2", .usage), ("--curves X1", .usage),
        ("--ciphers X", .unknownCipher),
        ("--pinnedpubkey sha256//x", .pinMismatch), ("--pinnedpubkey none", .pinMismatch),
        ("--ech maybe", .usage), ("--ech pn:a.test", .usage), ("--ech ecl:AAA", .usage), ("--ech ecl:AAAA", .usage),
        ("-E none", .unusableCertificate), ("-E rc", .unusableCertificate), ("-E rc --cert-type P12", .usage),
        ("--capath none", .unreadableRoots),
    ])
    func valuesOfTLSAreChecked(_ line: String, _ status: CommandStatus) {
        #expect(failure(line + " a.test")?.status == status)
    }

    @Test func echIsSetByItsValuesOfCurl() throws {
        let contents = [7, 0, 32, 0, 32] + [UInt8](repeating: 9, count: 32) + [0, 4, 0, 1, 0, 1, 64, 10]
        let bytes = [0, 61, 0xfe, 0x0d, 0, 57] + contents + Array("cover.test".utf8) + [0, 0]
        let list = try ECHConfigList(bytes)
        let text = Base64.encode(bytes)
        let cases: [([String], TLSSettings.ECH, Bool)] = [
            ([], .automatic, false), (["--ech", "true"], .automatic, false), (["--ech", "hard"], .required, false),
            (["--ech", "false"], .off, false), (["--ech", "grease"], .off, true),
            (["--ech", "ecl:\(text)"], .configured(list), false),
            (["--ech", "ecl:\(text)", "--ech", "hard"], .configured(list), false),
            (["--ech", "ecl:\(text)", "--ech", "false"], .off, false),
        ]
        for (arguments, ech, grease) in cases {
            let tls = try plan(words: arguments).client.tls
            #expect(tls.ech == ech && tls.sendsECHGrease == grease, "\(arguments)")
        }
    }

    // MARK: Sockets

    @Test(
        "a rule of --connect-to that leads to the URL's own host and port is no rule, unless a redirect may follow another",
        arguments: [
            ("::a.test:81", "http://a.test:81/", true), ("other.test::b.test:", "http://a.test:81/x", true),
            ("::a.test:81", "-L http://a.test:81/", false), ("::b.test:81", "http://a.test:81/", false),
            ("::a.test:82", "http://a.test:81/", false), ("::a.test:81", "http://a.test:81/ http://b.test:81/", false),
            ("::a.test:81", "--connect-to ::b.test: http://a.test:81/", true),
            // HSTS may change the URL to https://a.test:443/.
            ("a.test:443:b.test:", "http://a.test/", false),
        ]
    )
    func idleConnectRule(_ rule: String, _ rest: String, isIdle: Bool) throws {
        let line = ["--connect-to", rule] + rest.split(separator: " ").map(String.init)
        let parts = try FetchParser.fetches(line, files: Self.files)
        let plan = try FetchPlan(try #require(parts.first), defaults: Defaults(), files: Self.files)
        #expect(plan.client.connectTo.isEmpty == isIdle)
    }

    @Test func optionsSetTheSockets() throws {
        let client = try plan(
            "--connect-to",
            "a.test:80:[::1]:8080",
            "--connect-to",
            "::b.test:",
            "--local-port",
            "100-200",
            "--interface",
            "127.0.0.9",
            "--keepalive-time",
            "5",
            "--no-tcp-nodelay",
            "--happy-eyeballs-timeout-ms",
            "9"
        ).client
        let rule = ConnectRule(host: try Host("a.test"), port: 80, targetHost: try Host("::1"), targetPort: 8080)
        #expect(client.connectTo == [rule, ConnectRule(targetHost: try Host("b.test"))])
        let dial = client.engine.dial
        #expect(dial.localPorts == 100...200 && dial.localAddresses == [IPAddress("127.0.0.9")])
        #expect(dial.keepAlive == .seconds(5) && !dial.sendsAtOnce && dial.stagger == .milliseconds(9))
        #expect(try plan("--no-keepalive").client.engine.dial.keepAlive == nil)
        #expect(try plan("--keepalive-cnt", "3").client.engine.dial.keepAliveCount == 3)
        #expect(try plan("--no-sessionid").client.tls.resumesSessions == false)
        #expect(try plan("--unix-socket", "/run/x").client.unixSocket == "/run/x")
    }

    @Test func resolveKnowsWildcardsAndRemovals() throws {
        let line = ["--resolve", "*:80:192.0.2.1", "--resolve", "a.test:80:192.0.2.2", "--resolve", "-a.test:80"]
        let parts = try FetchParser.fetches(line + ["a.test"], files: Self.files)
        let client = try FetchPlan(parts[0], defaults: Defaults(), files: Self.files).client
        #expect(client.pinned.isEmpty && client.pinnedPorts == [80: [IPAddress(v4: 0xc000_0201)]])
    }

    @Test(arguments: [
        ("--connect-to a:b", CommandStatus.malformedOption), ("--connect-to a:0:b:1", .malformedOption),
        ("--local-port 9-8", .usage), ("--interface if!no-such", .interfaceFailed),
        ("--resolve *:80", .malformedOption),
        ("-0 -T -", .uploadFailed),
    ])
    func valuesOfSocketsAreChecked(_ line: String, _ status: CommandStatus) {
        #expect(failure(line + " a.test")?.status == status)
    }

    // MARK: Messages

    @Test func optionsSetTheMessage() throws {
        #expect(try plan("-0").transfers()[0].options.wire.sendsHTTP10)
        #expect(try !plan("--http1.1").client.tls.offersHTTP2)
        let prior = try plan("--http2-prior-knowledge").client
        #expect(prior.engine.usesHTTP2PriorKnowledge && prior.tls.requiresHTTP2)
        #expect(try plan("--request-target", "*").transfers()[0].options.wire.target == "*")
        #expect(try !plan("-H", "Host:").transfers()[0].options.wire.sendsHost)
        let waits = try plan("-d", "x", "-H", "Expect: 100-continue", "--expect100-timeout", "2").transfers()[0].options
        #expect(waits.expectContinue == .seconds(2))
        #expect(try plan("-d", "x").transfers()[0].options.expectContinue == nil)
        #expect(try plan("--url-query", "a=b c", "--url-query", "+%3d").transfers()[0].url.get().query == "a=b+c&%3D")
    }
}
