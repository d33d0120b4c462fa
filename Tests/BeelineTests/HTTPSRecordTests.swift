// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import InMemoryTracing
import NIOConcurrencyHelpers
import Testing
import Tracing

/// An upstream that answers each name with 127.0.0.1, and with HTTPS records in text form.
private final class RecordDouble: RecordUpstream {
    let name = "records"
    let isAuthenticated: Bool
    private let records: NIOLockedValueBox<[String: [String]]>
    private let names = NIOLockedValueBox<[String]>([])
    private let failures = NIOLockedValueBox(0)

    init(_ records: [String: [String]], isAuthenticated: Bool) {
        self.records = NIOLockedValueBox(records)
        self.isAuthenticated = isAuthenticated
    }

    /// The names whose records were asked for.
    var asked: [String] { names.withLockedValue { $0 } }

    func answer(_ question: Question) async throws(UpstreamError) -> Answer {
        Answer(v4: .addresses([IPAddress(v4: 0x7f00_0001)], ttl: .seconds(60)))
    }

    /// Changes the records of a name.
    func set(_ texts: [String], for name: String) { records.withLockedValue { $0[name] = texts } }

    /// Makes the next questions for records fail.
    func failServices(_ count: Int) { failures.withLockedValue { $0 = count } }

    func services(_ question: ServiceQuestion) async throws(UpstreamError) -> ServiceReply {
        names.withLockedValue { $0.append("\(question.name)") }
        let fails = failures.withLockedValue { left in
            left -= 1
            return left >= 0
        }
        if fails { throw UpstreamError(.serverFailure, "no records now") }
        let texts = records.withLockedValue { $0["\(question.name)"] } ?? []
        let found = texts.compactMap { HTTPSRecord(text: $0) }
        return ServiceReply(found, owner: question.name, ttl: .seconds(60))
    }
}

@Suite("HTTPS records in the client (RFC 9460)", .timeLimit(.minutes(1)))
struct HTTPSRecordTests {
    /// A site, and a client whose upstream has these records; `PORT` in a record stands for the site's port.
    private static func run(
        _ records: (UInt16) -> [String: [String]],
        ech: ServerECH? = nil,
        isAuthenticated: Bool = true,
        configure: @escaping (inout ClientConfiguration) throws -> Void = { _ in },
        _ body: (BeelineClient, RecordDouble, UInt16) async throws -> Void
    ) async throws {
        let authority = try TestAuthority()
        var tls = ServerTLS()
        // One certificate, because the server chooses it by the outer server name.
        tls.certificates = [try authority.certificate(for: "a.test", "b.test")]
        tls.ech = ech
        let site = try await LoopbackOrigin.start(tls: tls) { request in
            if request.target == "/to-http" { return .redirect(to: "http://a.test/to-http") }
            if request.target == "/go" { return .redirect(to: "http://a.test/end") }
            if request.target == "/end" {
                return .text("\(request.fields[.cookie] ?? "-")|\(request.fields[.authorization] ?? "-")")
            }
            return .text(
                "\(request.connection.serverName ?? "-")|\(request.fields[.cookie] ?? "-")"
            )
        }
        let upstream = RecordDouble(records(site.port), isAuthenticated: isAuthenticated)
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.resolver.upstreams = [upstream]
        configuration.resolver.check.allowsLocalAnswers = true
        configuration.resolver.families = .v4
        // A loaded machine may take longer than the default.
        configuration.resolver.limits.resolutionDelay = .seconds(5)
        configuration.tls.trustsSystemRoots = false
        configuration.tls.rootPEMs = [authority.rootPEM]
        configuration.proxies = .none
        try configure(&configuration)
        let client = try BeelineClient(configuration, jar: CookieJar())
        try await body(client, upstream, site.port)
        await client.shutDown()
        await site.stop()
    }

    @Test("the record's port is dialled, and the origin stays the name")
    func port() async throws {
        try await Self.run({ ["a.test": ["1 . alpn=h2,http/1.1 port=\($0)"]] }) { client, _, port in
            _ = client.jar?.store("id=7; Secure", from: try HTTPURL("https://a.test/"))
            let response = try await client.get("https://a.test/")
            #expect(response.hop.endpoint.port == port && "\(response.url)" == "https://a.test/")
            #expect(response.hop.resolution?.httpsRecords.first?.port == port)
            #expect(try await response.text() == "a.test|id=7")
        }
    }

    @Test("an alias leads to the target's records, and the certificate is checked for the origin")
    func alias() async throws {
        try await Self.run({ ["a.test": ["0 pool.example."], "pool.example": ["1 . port=\($0)"]] }) {
            client,
            upstream,
            port in
            let response = try await client.get("https://a.test/")
            #expect(response.hop.endpoint.port == port)
            #expect(try await response.text().hasPrefix("a.test|"))
            #expect(upstream.asked == ["a.test", "pool.example"])
        }
    }

    @Test("http is upgraded by a record, before anything is sent, and cookies of https go along")
    func upgrade() async throws {
        try await Self.run({ ["a.test": ["1 . port=\($0)"], "_8080._https.b.test": ["1 . port=\($0)"]] }) {
            client,
            upstream,
            port in
            _ = client.jar?.store("id=7; Secure", from: try HTTPURL("https://a.test/"))
            for _ in 0..<2 {
                let response = try await client.get("http://a.test/x")
                #expect(response.hop.isUpgradedToTLS && "\(response.url)" == "https://a.test/x")
                #expect(response.hops.count == 1)
                #expect(try await response.text() == "a.test|id=7")
            }
            let other = try await client.get("http://b.test:8080/")
            #expect("\(other.url)" == "https://b.test:8080/" && other.hop.endpoint.port == port)
            #expect(upstream.asked == ["a.test", "_8080._https.b.test"])
            await other.body.discard()
        }
    }

    @Test("a request that a record changes before anything is sent does not count as sent in traces")
    func upgradeInTraces() async throws {
        let tracer = InMemoryTracer()
        try await Self.run({ ["a.test": ["1 . port=\($0)"]] }) {
            $0.observability.tracer = tracer
        } _: { client, _, _ in
            // Redirects to /end, which the cached record changes at once.
            _ = try await client.get("http://a.test/go").text()
            let spans = tracer.finishedSpans
            let schemes = spans.map { $0.attributes.get("url.scheme") }
            #expect(schemes == [.string("http"), .string("https"), .string("https")])
            let counts = spans.map { $0.attributes.get("http.request.resend_count") }
            #expect(counts == [nil, nil, .int64(1)])
        }
    }

    @Test("http is upgraded by a record that is found only when all addresses of a cached answer have failed")
    func upgradeAfterFailedAddresses() async throws {
        try await Self.run({ ["_1._https.a.test": ["1 . port=\($0)"]] }) {
            // The next question for records need not wait.
            $0.resolver.cache.failureTTL = .zero
        } _: { client, upstream, port in
            _ = try await client.resolver.resolve(Host("a.test"))
            upstream.failServices(1)
            let response = try await client.get("http://a.test:1/x")
            #expect(response.hop.isUpgradedToTLS && "\(response.url)" == "https://a.test:1/x")
            #expect(response.hop.endpoint.port == port && response.hops.count == 1)
            #expect(upstream.asked == ["_1._https.a.test", "_1._https.a.test"])
            await response.body.discard()
        }
    }

    @Test("the records of pinned origins and of addresses are not asked for, nor any if they are turned off")
    func notAsked() async throws {
        let host = try Host("a.test")
        try await Self.run({ _ in ["a.test": ["1 . port=1"]] }) {
            $0.pinned[.init(host)] = [IPAddress(v4: 0x7f00_0001)]
        } _: { client, upstream, port in
            let response = try await client.get("https://a.test:\(port)/")
            #expect(response.hop.endpoint.port == port && upstream.asked.isEmpty)
            await response.body.discard()
        }
        try await Self.run({ _ in ["a.test": ["1 . port=1"]] }) {
            $0.resolver.usesHTTPSRecords = false
        } _: { client, upstream, port in
            let response = try await client.get("https://a.test:\(port)/")
            #expect(response.hop.endpoint.port == port && upstream.asked.isEmpty)
            await response.body.discard()
        }
    }

    @Test("if the record's endpoint fails, the origin's own is used")
    func fallback() async throws {
        try await Self.run({ port in ["_\(port)._https.a.test": ["1 a.test. port=1"]] }) { client, _, port in
            let response = try await client.get("https://a.test:\(port)/")
            #expect(response.hop.endpoint.port == port && response.hop.attempts.count == 2)
            await response.body.discard()
        }
    }

    @Test(
        "without ECH, the origin's own addresses follow records that all have it; with ECH they do not (RFC 9848 §5.1)"
    )
    func fallbackWithoutECH() async throws {
        let key = try ServerECH(publicName: "b.test")
        let ech = Base64.encode(key.configurations)
        let records = { (port: UInt16) in ["_\(port)._https.a.test": ["1 a.test. port=1 ech=\(ech)"]] }
        for (ech, outcome) in [(TLSSettings.ECH.off, ECHOutcome.notOffered), (.automatic, nil)] {
            try await Self.run(records, ech: key) {
                $0.tls.ech = ech
            } _: { client, _, port in
                let response = try? await client.get("https://a.test:\(port)/")
                #expect(response?.hop.ech == outcome)
                await response?.body.discard()
            }
        }
    }

    @Test("a site that redirects to http, which its record changes to https, is told from a long chain")
    func redirectToUpgradedHTTP() async throws {
        try await Self.run({ ["a.test": ["1 . port=\($0)"]] }) { client, _, _ in
            let error = await #expect(throws: BeelineError.self) { try await client.get("https://a.test/to-http") }
            #expect(error?.code == .tooManyRedirects)
            #expect(error?.message.hasSuffix(HTTPSRecordRemedy.keepHTTP) == true)
        }
    }

    @Test("a redirect to http is upgraded by a record before its origin is compared: cookies and credentials stay")
    func redirectWithCredentials() async throws {
        try await Self.run({ ["a.test": ["1 . port=\($0)"]] }) { client, _, _ in
            _ = client.jar?.store("id=7; Secure; Path=/", from: try HTTPURL("https://a.test/"))
            let fields: HTTPFields = [.authorization: "Bearer t", .cookie: "own=1"]
            let response = try await client.get("https://a.test/go", fields: fields)
            #expect(response.hops.map(\.isUpgradedToTLS) == [false, true])
            #expect(try await response.text() == "id=7; own=1|Bearer t")
        }
    }

    @Test("a redirect to http is allowed by its own scheme only, also if a record in the cache changes it")
    func redirectRules() async throws {
        try await Self.run({ ["a.test": ["1 . port=\($0)"]] }) { client, _, _ in
            var options = RequestOptions()
            options.redirectRules = RedirectRules()
            options.redirectRules?.schemes = [.http]
            let response = try await client.get("https://a.test/go", options: options)
            #expect(response.hops.map(\.isUpgradedToTLS) == [false, true])
            await response.body.discard()
            options.redirectRules?.schemes = [.https]
            let error = await #expect(throws: BeelineError.self) {
                try await client.get("https://a.test/go", options: options)
            }
            #expect(error?.code == .unsupportedScheme)
        }
    }

    @Test("after all endpoints of a record failed, the record is asked for again")
    func movedRecord() async throws {
        let key = try ServerECH(publicName: "b.test")
        let ech = Base64.encode(key.configurations)
        // The only endpoint, because there is no way around ECH.
        try await Self.run({ _ in ["a.test": ["1 . port=1 ech=\(ech)"]] }, ech: key) { client, upstream, port in
            _ = try await client.resolver.resolve(HTTPURL("https://a.test/").origin)
            upstream.set(["1 . port=\(port) ech=\(ech)"], for: "a.test")
            let response = try await client.get("https://a.test/")
            #expect(response.hop.endpoint.port == port)
            await response.body.discard()
            #expect(upstream.asked == ["a.test", "a.test"])
        }
    }

    @Test("where ECH is required, records are waited for longer than the resolution delay")
    func required() async throws {
        let key = try ServerECH(publicName: "b.test")
        let records = { (port: UInt16) in ["a.test": ["1 . port=\(port) ech=\(Base64.encode(key.configurations))"]] }
        try await Self.run(records, ech: key) {
            $0.tls.ech = .required
            $0.resolver.limits.resolutionDelay = .zero
        } _: { client, _, _ in
            let response = try await client.get("https://a.test/")
            #expect(response.hop.ech == .accepted(publicName: "b.test"))
            await response.body.discard()
        }
    }

    @Test("a record's key of ECH encrypts the server name; where ECH is required, a key from plain DNS is refused")
    func encryptedClientHello() async throws {
        let key = try ServerECH(publicName: "b.test")
        let records = { (port: UInt16) in ["a.test": ["1 . port=\(port) ech=\(Base64.encode(key.configurations))"]] }
        try await Self.run(records, ech: key) { client, _, _ in
            let response = try await client.get("https://a.test/")
            #expect(response.hop.ech == .accepted(publicName: "b.test"))
            // The name that observers see.
            #expect(try await response.text().hasPrefix("b.test|"))
        }
        try await Self.run(records, ech: key, isAuthenticated: false) {
            $0.tls.ech = .required
        } _: { client, _, _ in
            let error = await #expect(throws: BeelineError.self) { try await client.get("https://a.test/") }
            #expect(error?.code == .echFailed)
        }
    }
}
