// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Crypto
import NIOConcurrencyHelpers
import Names
import Testing

@testable import HTTPDNS

@Suite("Name rules, canary and remote switch")
struct ControlTests {
    // MARK: Names

    @Test(
        "private names are left to the system's resolver",
        arguments: [
            ("printer", false), ("printer.local", false), ("a.b.local", false), ("local", false), ("nas.lan", false),
            ("router.home.arpa", false), ("db.internal", false), ("a.corp.test", false), ("example.com", true),
            ("mylocal", false), ("my.notlocal", true), ("www.example.com.", true),
        ]
    )
    func privateNames(_ text: String, _ isForUpstreams: Bool) {
        var policy = NamePolicy()
        policy.searchDomains = ["corp.test"]
        #expect(policy.isForUpstreams(host(text)) == isForUpstreams)
    }

    @Test("name rules match whole labels, and a denied domain wins over an allowed one")
    func rules() {
        var policy = NamePolicy()
        policy.allowed = ["example.com"]
        policy.denied = ["pay.example.com"]
        for (text, expected) in [
            ("www.example.com", true), ("example.com", true), ("pay.example.com", false), ("x.pay.example.com", false),
            ("xpay.example.com", true), ("example.org", false), ("notexample.com", false),
        ] {
            #expect(policy.isForUpstreams(host(text)) == expected, "\(text)")
        }
    }

    @Test("a private name goes to the user's tables and then to the system, never to a remote upstream")
    func privateRoute() async throws {
        let service = ScriptedUpstream("service")
        let table = FixedUpstream(HostsTable(parsing: "127.0.0.9 db.internal"))
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("127.0.0.8", ttl: nil)))
        var configuration = ResolverConfiguration(upstreams: [service, table], system: system)
        configuration.families = .v4
        let resolver = Resolver(configuration, clock: ManualClock())
        #expect(try await resolver.resolve(host("db.internal")).addresses == addresses("127.0.0.9"))
        #expect(try await resolver.resolve(host("printer.local")).addresses == addresses("127.0.0.8"))
        #expect(service.questions.isEmpty)
    }

    @Test("a name of Tor is sent to no upstream and not to the system (RFC 7686)", arguments: [true, false])
    func onion(_ isEnabled: Bool) async throws {
        let service = ScriptedUpstream("service") { _ in .answer(v4("192.0.2.1")) }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(v4("127.0.0.8", ttl: nil)) }
        let resolver = ResolverLab.resolver([service], system: system)
        resolver.isEnabled = isEnabled
        let name = host("abc.onion")
        for origin in [Origin(scheme: .https, host: name), Origin(scheme: .http, host: name)] {
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(origin) }
            #expect(error?.code == .noSuchName)
        }
        await resolver.prefetch([name, host("def.onion")])
        #expect(await resolver.askAll(name).isEmpty)
        #expect(service.questions.isEmpty && system.questions.isEmpty)
    }

    @Test("an upstream that knows Tor is asked for a name of Tor, and the system is not (RFC 7686)")
    func onionUpstream() async throws {
        let service = ScriptedUpstream("service") { _ in .answer(v4("192.0.2.1")) }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(v4("127.0.0.8", ttl: nil)) }
        let resolver = ResolverLab.resolver([service], system: system) { $0.names.asksForOnion = true }
        #expect(try await resolver.resolve(host("abc.onion")).addresses == addresses("192.0.2.1"))
        #expect(await resolver.askAll(host("abc.onion")).map(\.upstream) == ["service"])
        resolver.isEnabled = false
        let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(host("def.onion")) }
        #expect(error?.code == .noSuchName && system.questions.isEmpty)
    }

    // MARK: Canary

    @Test("a canary includes the configured share of installations, and a larger share keeps all of them")
    func canary() {
        let all = (0..<5_000).map { Canary(percentage: 25, installation: "device-\($0)") }
        let quarter = all.filter(\.isIncluded)
        #expect((1_150...1_350).contains(quarter.count))
        #expect(all.filter(\.isIncluded) == quarter)
        for var one in quarter {
            one.percentage = 26
            #expect(one.isIncluded)
        }
        #expect(!Canary(percentage: 0, installation: "x").isIncluded)
        #expect(Canary(percentage: 100, installation: "x").isIncluded)
        let salted = all.map { Canary(percentage: 25, installation: $0.installation, salt: "other") }.filter(
            \.isIncluded
        )
        #expect(Set(salted.map(\.installation)) != Set(quarter.map(\.installation)))
    }

    @Test("an installation outside the canary uses the system's resolver")
    func outsideCanary() async throws {
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("192.0.2.9", ttl: nil)))
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one")], system: system)
        configuration.families = .v4
        configuration.names.canary = Canary(percentage: 0, installation: "x")
        let resolver = Resolver(configuration, clock: ManualClock())
        #expect(try await resolver.resolve(host("www.example.com")).source == .system)
    }

    // MARK: The remote switch

    static let key = Curve25519.Signing.PrivateKey()

    static func signed(_ text: String, by key: Curve25519.Signing.PrivateKey = key) throws -> [UInt8] {
        let signature = Base64.urlSafe(Array(try key.signature(for: Array(text.utf8))))
        return Array(#"{"document":\#(JSONText.quoted(text)),"signature":"\#(signature)"}"#.utf8)
    }

    @Test("an unsigned document and a signed document are read")
    func document() throws {
        let text =
            #"{"enabled":false,"issued":5,"expires":9,"denied":["a.example"],"allowed":["b.example"],"canary":25}"#
        let plain = try RemoteDocument(Array(text.utf8), signedBy: nil)
        #expect(!plain.isEnabled)
        #expect(plain.issued == 5)
        #expect(plain.expires == 9)
        #expect(plain.denied.contains(host("x.a.example")))
        #expect(plain.allowed?.contains(host("x.b.example")) == true)
        #expect(plain.canary == 25)
        #expect(try RemoteDocument(Self.signed(text), signedBy: Self.key.publicKey) == plain)
    }

    @Test("a document without a valid signature or without content is refused")
    func badDocuments() throws {
        let text = #"{"enabled":false,"expires":9}"#
        let stranger = Curve25519.Signing.PrivateKey()
        var changed = try Self.signed(text)
        changed[20] ^= 1
        for octets in [Array(text.utf8), try Self.signed(text, by: stranger), changed, []] {
            let error = #expect(throws: UpstreamError.self) {
                try RemoteDocument(octets, signedBy: Self.key.publicKey)
            }
            #expect(error?.code == .untrusted)
        }
        for text in ["", "{}", #"{"enabled":1,"expires":9}"#, #"{"enabled":true}"#] {
            #expect(throws: UpstreamError.self) { try RemoteDocument(Array(text.utf8), signedBy: nil) }
        }
    }

    @Test(
        "a document with a member in another form is refused, so that it denies no fewer names than meant",
        arguments: [
            #""denied":"pay.example.com""#, #""denied":["pay.example.com/"]"#, #""denied":["a.example",5]"#,
            #""allowed":"example.com""#, #""canary":"5""#, #""canary":101"#, #""canary":-1"#,
            #""issued":"soon""#,
        ]
    )
    func oddMembers(_ member: String) throws {
        let read = { (member: String) throws in
            try RemoteDocument(Array(#"{"enabled":true,"expires":9,\#(member)}"#.utf8), signedBy: nil)
        }
        let error = #expect(throws: UpstreamError.self) { try read(member) }
        #expect(error?.code == .malformedAnswer)
        #expect(try read(#""denied":null,"allowed":null,"canary":null,"issued":null"#).allowed == nil)
        #expect(try read(#""allowed":[]"#).allowed?.isEmpty == true)
    }

    static func document(_ isEnabled: Bool, issued: Int64, expires: Int64) throws -> RemoteDocument {
        let text = #"{"enabled":\#(isEnabled),"issued":\#(issued),"expires":\#(expires)}"#
        return try RemoteDocument(Array(text.utf8), signedBy: nil)
    }

    @Test("a document applies until it expires, and older or expired documents are refused")
    func remoteState() throws {
        var state = RemoteState()
        #expect(state.received(try Self.document(false, issued: 10, expires: 100), now: 20))
        #expect(!state.received(try Self.document(true, issued: 9, expires: 200), now: 21))
        #expect(!state.received(try Self.document(true, issued: 11, expires: 21), now: 21))
        #expect(state.document?.isEnabled == false)
        #expect(state.pause(interval: .seconds(50), now: 21) == .seconds(50))
        #expect(state.pause(interval: .seconds(3_600), now: 21) == .seconds(79), "it ends with the document")
        let tooSoon = state.expire(now: 99)
        let inTime = state.expire(now: 100)
        #expect(!tooSoon)
        #expect(inTime)
        #expect(state.document == nil)
        // A document that is refused is fetched again as soon as one that cannot be fetched.
        state = RemoteState()
        #expect(!state.received(try Self.document(true, issued: 11, expires: 100), now: 100))
        #expect(state.pause(interval: .seconds(3_600), now: 100) == .seconds(60))
        for pause in [120, 240] as [Int64] {
            state.failed()
            #expect(state.pause(interval: .seconds(3_600), now: 100) == .seconds(pause))
        }
        #expect(state.pause(interval: .seconds(90), now: 100) == .seconds(90))
        // Each document expires after the longest lifetime at the latest.
        #expect(state.received(try Self.document(false, issued: 12, expires: .max), now: 0))
        #expect(state.document?.expires == RemoteDocument.longestLife)
    }

    @Test("a document from the future applies, and so does the next document")
    func documentFromTheFuture() throws {
        var state = RemoteState()
        #expect(state.received(try Self.document(false, issued: 900, expires: 1_000), now: 20))
        #expect(!state.received(try Self.document(true, issued: 19, expires: 1_000), now: 21))
        #expect(state.received(try Self.document(true, issued: 22, expires: 1_000), now: 22))
        #expect(state.document?.isEnabled == true)
    }

    @Test("the remote switch turns the resolver off and on, survives a failed download, and expires")
    func remoteSwitch() async throws {
        let clock = ManualClock()
        let wall = NIOLockedValueBox<Int64>(1_000)
        let transport = ScriptedTransport(
            .text(#"{"enabled":false,"issued":1,"expires":2000}"#),
            .failure(UpstreamError(.unreachable, "no")),
            .text(#"{"enabled":true,"issued":2,"expires":9000}"#)
        )
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(v4("192.0.2.9")) }
        var configuration = ResolverConfiguration(upstreams: [upstream], system: system)
        configuration.families = .v4
        configuration.network.monitor = nil
        configuration.remoteSwitch = RemoteSwitch(
            try HTTPURL("https://192.0.2.80/switch.json"),
            transport: transport
        )
        configuration.remoteSwitch?.interval = .seconds(600)
        let resolver = Resolver(configuration, clock: clock, wallClock: { wall.withLockedValue { $0 } })
        #expect(try await resolver.resolve(host("a.example")).upstream == "one")
        let running = Task { await resolver.run() }
        await until { !resolver.isActive }
        #expect(resolver.isEnabled, "the setting of this process did not change")
        #expect(try await resolver.resolve(host("a.example")).upstream == "system")
        try await clock.sleepers(atLeast: 1)
        // The download fails: the last valid document still applies.
        wall.withLockedValue { $0 = 1_600 }
        clock.advance(by: .seconds(600))
        await until { transport.requests.count == 2 }
        #expect(!resolver.isActive)
        try await clock.sleepers(atLeast: 1)
        wall.withLockedValue { $0 = 1_660 }
        clock.advance(by: .seconds(60))
        await until { resolver.isActive }
        #expect(try await resolver.resolve(host("a.example")).upstream == "one")
        await resolver.shutDown()
        await running.value
    }

    /// A transport whose second document comes after a gate has opened.
    private final class HeldTransport: UpstreamTransport {
        let gate = Gate()
        private let count = NIOLockedValueBox(0)

        func exchange(_ request: UpstreamRequest) async throws(UpstreamError) -> UpstreamReply {
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            if number > 1 { try? await gate.wait() }
            let text = #"{"enabled":false,"issued":\#(number),"expires":\#(1_000 + 1_000 * number)}"#
            return UpstreamReply(status: 200, body: Array(text.utf8))
        }
    }

    @Test("an expired document applies until the next one has been fetched")
    func noGapBetweenDocuments() async throws {
        let clock = ManualClock()
        let wall = NIOLockedValueBox<Int64>(1_000)
        let transport = HeldTransport()
        var configuration = ResolverConfiguration(upstreams: [ScriptedUpstream("one")], system: nil)
        configuration.network.monitor = nil
        configuration.remoteSwitch = RemoteSwitch(try HTTPURL("https://192.0.2.80/switch.json"), transport: transport)
        let resolver = Resolver(configuration, clock: clock, wallClock: { wall.withLockedValue { $0 } })
        let running = Task { await resolver.run() }
        await until { !resolver.isActive }
        try await clock.sleepers(atLeast: 1)
        wall.withLockedValue { $0 = 2_000 }
        clock.advance(by: .seconds(1_000))
        try await transport.gate.arrivals(atLeast: 1)
        #expect(!resolver.isActive)
        transport.gate.open()
        try await clock.sleepers(atLeast: 1)
        #expect(!resolver.isActive)
        await resolver.shutDown()
        await running.value
    }

    @Test("remote name rules apply to cached answers too")
    func remoteRules() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let system = ScriptedUpstream("system", kind: .system) { _ in .answer(v4("192.0.2.9")) }
        var configuration = ResolverConfiguration(upstreams: [upstream], system: system)
        configuration.families = .v4
        let resolver = Resolver(configuration, clock: ManualClock(), wallClock: { 0 })
        _ = try await resolver.resolve(host("pay.example.com"))
        _ = try await resolver.resolve(host("www.example.com"))
        let text = #"{"enabled":true,"expires":9,"denied":["pay.example.com"]}"#
        let document = try RemoteDocument(Array(text.utf8), signedBy: nil)
        resolver.handle(.documentReceived(document, wall: 0), now: Moment(nanoseconds: 0))
        #expect(try await resolver.resolve(host("pay.example.com")).upstream == "system")
        #expect(try await resolver.resolve(host("www.example.com")).source == .cached)
    }
}
