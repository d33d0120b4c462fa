// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@Suite("The resolver")
struct ResolverTests {
    @Test("a fresh answer names its upstream, and its TTL counts down in the cache")
    func freshThenCached() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1 192.0.2.2", ttl: 60)))
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        let fresh = try await resolver.resolve(ResolverLab.www, port: 8_443)
        #expect(fresh.endpoints.map(\.description) == ["192.0.2.1:8443", "192.0.2.2:8443"])
        #expect(fresh.source == .fresh)
        #expect(fresh.upstream == "one")
        #expect(fresh.age == .zero)
        #expect(fresh.ttl == .seconds(60))
        clock.advance(by: .seconds(40))
        let cached = try await resolver.resolve(ResolverLab.www)
        #expect(cached.source == .cached)
        #expect(cached.age == .seconds(40))
        #expect(cached.ttl == .seconds(20))
        #expect(cached.port == 443)
        #expect(resolver.questionsSent == 1)
        #expect(resolver.cached(ResolverLab.www) == cached)
    }

    @Test("the upstream is asked again when the TTL ends")
    func expires() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1", ttl: 60)), .answer(v4("192.0.2.2", ttl: 60)))
        let resolver = ResolverLab.resolver([upstream], clock: clock)
        _ = try await resolver.resolve(ResolverLab.www)
        clock.advance(by: .seconds(60))
        let second = try await resolver.resolve(ResolverLab.www)
        #expect(second.source == .fresh)
        #expect(second.addresses == addresses("192.0.2.2"))
    }

    @Test("answers without a TTL, and absences with a long one, are kept as long as the configuration says")
    func configuredTimes() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream("one") { question in
            switch question.host.text {
            case "plain.test": .answer(v4("192.0.2.1", ttl: nil))
            case "none.test": .answer(Answer(v4: .absent(.noName, ttl: nil)))
            default: .answer(Answer(v4: .absent(.noName, ttl: .seconds(9_999))))
            }
        }
        let resolver = ResolverLab.resolver([upstream], clock: clock) {
            $0.cache.defaultTTL = .seconds(40)
            $0.cache.defaultNegativeTTL = .seconds(20)
            $0.cache.maxNegativeTTL = .seconds(30)
        }
        for (name, seconds) in [("plain.test", 40), ("none.test", 20), ("long.test", 30)] {
            _ = try? await resolver.resolve(host(name))
            let asked = upstream.questions.count
            clock.advance(by: .seconds(seconds - 1))
            _ = try? await resolver.resolve(host(name))
            #expect(upstream.questions.count == asked, "\(name)")
            clock.advance(by: .seconds(1))
            _ = try? await resolver.resolve(host(name))
            #expect(upstream.questions.count == asked + 1, "\(name)")
        }
    }

    @Test("a forced resolution ignores the cache and stores its answer")
    func forced() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")), .answer(v4("192.0.2.2")))
        let resolver = ResolverLab.resolver([upstream])
        _ = try await resolver.resolve(ResolverLab.www)
        #expect(try await resolver.resolve(ResolverLab.www, fresh: true).addresses == addresses("192.0.2.2"))
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.2"))
    }

    @Test("\"no such name\" is an error that is kept for the SOA's time")
    func negative() async throws {
        let clock = ManualClock()
        let none = Answer(v4: .absent(.noName, ttl: .seconds(30)))
        let upstream = ScriptedUpstream("one", .answer(none), .answer(v4("192.0.2.1")))
        let other = ScriptedUpstream("two")
        let resolver = ResolverLab.resolver([upstream, other], clock: clock)
        for _ in 0..<2 {
            let error = await #expect(throws: ResolutionError.self) { try await resolver.resolve(ResolverLab.www) }
            #expect(error?.code == .noSuchName)
        }
        #expect(resolver.cached(ResolverLab.www) == nil)
        #expect(upstream.questions.count == 1)
        clock.advance(by: .seconds(30))
        #expect(try await resolver.resolve(ResolverLab.www).source == .fresh)
    }

    @Test("a name without addresses of the requested families is an error")
    func noAddress() async {
        let upstream = ScriptedUpstream("one", .answer(Answer(v6: .absent(.noRecord, ttl: .seconds(30)))))
        let error = await #expect(throws: ResolutionError.self) {
            try await ResolverLab.resolver([upstream], families: .v6).resolve(ResolverLab.www)
        }
        #expect(error?.code == .noAddress)
        #expect(error?.message.hasSuffix(": the name has no IPv6 address, according to one") == true)
    }

    @Test("a name that the system knows without addresses is an error in plain words")
    func noAddressOfTheSystem() async {
        let none = Answer(v4: .absent(.noRecord, ttl: .seconds(30)), v6: .absent(.noRecord, ttl: .seconds(30)))
        let error = await #expect(throws: ResolutionError.self) {
            try await ResolverLab.resolver([ScriptedUpstream("system", .answer(none))], families: .both)
                .resolve(ResolverLab.www)
        }
        let words = "the name has neither an IPv4 nor an IPv6 address, according to the system's resolver"
        #expect(error?.message.hasSuffix(": \(words)") == true, "\(error?.message ?? "")")
    }

    @Test("an address and localhost resolve to themselves")
    func literals() async throws {
        let resolver = ResolverLab.resolver([ScriptedUpstream("one")], families: .both)
        for (text, endpoints) in [
            ("192.0.2.1", ["192.0.2.1:443"]), ("[2001:db8::1]", ["[2001:db8::1]:443"]),
            ("localhost", ["[::1]:443", "127.0.0.1:443"]), ("a.localhost", ["[::1]:443", "127.0.0.1:443"]),
        ] {
            let resolution = try await resolver.resolve(host(text))
            #expect(resolution.source == .literal)
            #expect(resolution.endpoints.map(\.description) == endpoints)
            #expect(resolver.cached(host(text)) == resolution)
        }
        #expect(resolver.questionsSent == 0)
    }

    @Test("a fixed table may contain any address")
    func fixed() async throws {
        let table = FixedUpstream(HostsTable(parsing: "127.0.0.1 www.example.com"))
        var configuration = ResolverConfiguration(upstreams: [table], system: nil)
        configuration.families = .v4
        let resolver = Resolver(configuration, clock: ManualClock())
        for _ in 0..<2 {
            let resolution = try await resolver.resolve(ResolverLab.www)
            #expect(resolution.source == .fixed)
            #expect(resolution.addresses == addresses("127.0.0.1"))
        }
    }

    @Test("while the resolver is off only the system is asked, and cached answers return when it is on again")
    func isEnabled() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("198.51.100.1", ttl: nil)))
        let resolver = ResolverLab.resolver([upstream], system: system)
        _ = try await resolver.resolve(ResolverLab.www)
        resolver.isEnabled = false
        let off = try await resolver.resolve(ResolverLab.www)
        #expect(off.source == .system)
        #expect(off.addresses == addresses("198.51.100.1"))
        #expect(try await resolver.resolve(ResolverLab.www).source == .cached)
        resolver.isEnabled = true
        #expect(try await resolver.resolve(ResolverLab.www).addresses == addresses("192.0.2.1"))
        #expect(upstream.questions.count == 1)
        #expect(system.questions.count == 1)
    }

    @Test("denied domains are left to the system by whole labels, and its answer is not checked")
    func denied() async throws {
        let upstream = ScriptedUpstream("one", .answer(v4("192.0.2.1")))
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("127.0.0.1", ttl: nil)))
        let resolver = ResolverLab.resolver([upstream], system: system) { $0.names.denied = ["corp.example"] }
        #expect(try await resolver.resolve(host("a.corp.example")).source == .system)
        #expect(try await resolver.resolve(host("acorp.example")).upstream == "one")
        #expect(system.questions.map(\.host.text) == ["a.corp.example"])
    }

    @Test("a forgotten name is asked for again")
    func forget() async throws {
        let upstream = ScriptedUpstream("one") { _ in .answer(v4("192.0.2.1")) }
        let resolver = ResolverLab.resolver([upstream])
        _ = try await resolver.resolve(ResolverLab.www)
        resolver.forget(ResolverLab.www)
        _ = try await resolver.resolve(ResolverLab.www)
        resolver.forgetAll()
        #expect(resolver.cachedNames == 0)
        _ = try await resolver.resolve(ResolverLab.www)
        #expect(upstream.questions.count == 3)
    }

    @Test("without upstreams the system is asked, and without the system there is an error")
    func noUpstreams() async throws {
        let system = ScriptedUpstream("system", kind: .system, .answer(v4("192.0.2.1", ttl: nil)))
        #expect(try await ResolverLab.resolver([], system: system).resolve(ResolverLab.www).source == .system)
        let error = await #expect(throws: ResolutionError.self) {
            try await ResolverLab.resolver([]).resolve(ResolverLab.www)
        }
        #expect(error?.code == .allUpstreamsFailed)
    }

    @Test("a DNS upstream is asked for both families at once, and a late AAAA is added to the cache")
    func lateFamily() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let upstream = FamilyUpstream(v4("192.0.2.1"), late: (.v6, gate, .both("192.0.2.1", "2001:db8::1")))
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.families = .both
        let resolver = Resolver(configuration, clock: clock)
        async let first = resolver.resolve(ResolverLab.www)
        try await gate.arrivals(atLeast: 1)
        await until { clock.nextDeadline?.sinceStart == .milliseconds(50) }
        clock.advance(by: .milliseconds(50))
        #expect(try await first.addresses == addresses("192.0.2.1"))
        gate.open()
        await until { resolver.cached(ResolverLab.www)?.addresses.count == 2 }
        #expect(resolver.cached(ResolverLab.www)?.addresses == addresses("2001:db8::1 192.0.2.1"))
        #expect(resolver.questionsSent == 2)
    }

    @Test("a name with one family is not asked for again while its addresses are valid")
    func oneFamilyOnly() async throws {
        let clock = ManualClock()
        let upstream = ScriptedUpstream(
            "one",
            .answer(Answer(v4: .addresses(addresses("192.0.2.1"), ttl: .seconds(60))))
        )
        let resolver = ResolverLab.resolver([upstream], clock: clock, families: .both)
        _ = try await resolver.resolve(ResolverLab.www)
        clock.advance(by: .seconds(59))
        #expect(try await resolver.resolve(ResolverLab.www).source == .cached)
    }
}
