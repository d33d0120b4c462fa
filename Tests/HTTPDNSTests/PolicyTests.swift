// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@testable import HTTPDNS

@Suite("Health of upstreams")
struct UpstreamHealthTests {
    static func at(_ seconds: Int) -> Moment { Moment(nanoseconds: Int64(seconds) * 1_000_000_000) }

    static func health(down: [Int] = []) -> UpstreamHealth {
        var health = UpstreamHealth(count: 3, failuresUntilDown: 3, limits: .init())
        for upstream in down {
            for _ in 0..<3 { health.failed(upstream, reaction: .tryElsewhere, now: at(0)) }
        }
        return health
    }

    @Test("three failures in a row take an upstream out of use; its probes begin after 1 s and slow down to every 30 s")
    func down() {
        var health = Self.health(down: [0])
        #expect(health.choose(among: [0, 1, 2], now: Self.at(0)) == .init(upstreams: [1, 2]))
        var probed: [Int] = []
        for second in 0...130 where health.choose(among: [0, 1, 2], now: Self.at(second)).probe == 0 {
            probed.append(second)
        }
        #expect(probed == [1, 3, 7, 15, 31, 61, 91, 121])
        health.succeeded(0, after: .milliseconds(5))
        #expect(health.choose(among: [0, 1, 2], now: Self.at(131)) == .init(upstreams: [0, 1, 2]))
    }

    @Test("an upstream that is down is asked again after one second, even if it is the only one")
    func shortOutage() {
        var health = Self.health(down: [0])
        #expect(health.choose(among: [0], now: Self.at(0)) == .init(upstreams: []))
        #expect(health.choose(among: [0], now: Self.at(1)) == .init(upstreams: [0]))
        health.succeeded(0, after: .milliseconds(5))
        // The next outage also begins with a pause of one second.
        for _ in 0..<3 { health.failed(0, reaction: .tryElsewhere, now: Self.at(9)) }
        #expect(health.choose(among: [0], now: Self.at(10)) == .init(upstreams: [0]))
    }

    @Test("two failures and a success leave an upstream in use")
    func notDown() {
        var health = Self.health()
        for _ in 0..<2 {
            health.failed(0, reaction: .tryElsewhere, now: Self.at(0))
            health.failed(0, reaction: .tryElsewhere, now: Self.at(0))
            health.succeeded(0, after: .zero)
        }
        #expect(health.choose(among: [0], now: Self.at(0)).upstreams == [0])
    }

    @Test("while all upstreams are down, each one is asked one question at a time")
    func allDown() {
        var health = Self.health(down: [0, 1, 2])
        #expect(health.choose(among: [0, 1, 2], now: Self.at(0)) == .init(upstreams: []))
        for upstream in 0...2 {
            #expect(health.choose(among: [0, 1, 2], now: Self.at(1)) == .init(upstreams: [upstream]))
        }
        #expect(health.choose(among: [0, 1, 2], now: Self.at(2)) == .init(upstreams: []))
        #expect(health.choose(among: [0, 1, 2], now: Self.at(3)) == .init(upstreams: [0]))
    }

    @Test("an upstream that recovered is asked even though the first one is still down")
    func recoveredBehindADeadOne() {
        var health = Self.health(down: [0, 1])
        #expect(health.choose(among: [0, 1], now: Self.at(30)) == .init(upstreams: [0]))
        health.failed(0, reaction: .tryElsewhere, now: Self.at(31))
        #expect(health.choose(among: [0, 1], now: Self.at(31)) == .init(upstreams: [1]))
        health.succeeded(1, after: .milliseconds(10))
        #expect(health.choose(among: [0, 1], now: Self.at(32)).upstreams == [1])
    }

    @Test("a refused question does not count against the upstream")
    func refusedQuestion() {
        var health = Self.health()
        for _ in 0..<9 { health.failed(0, reaction: .doNotRepeat, now: Self.at(0)) }
        #expect(health.choose(among: [0], now: Self.at(0)).upstreams == [0])
    }

    @Test(
        "a 403 pauses an upstream only if the question carried an account, since a captive portal may send it",
        arguments: [401, 403, 407]
    )
    func refusalWithoutAnAccount(_ status: Int) {
        let reply = UpstreamReply(status: status, body: [])
        #expect { try reply.requireSuccess(hasAccount: false) } throws: {
            ($0 as? UpstreamError)?.code.reaction == .tryElsewhere
        }
        let error = #expect(throws: UpstreamError.self) { try reply.requireSuccess(hasAccount: true) }
        #expect(error?.code == .accountRefused)
    }

    @Test("a service without the path of the question is reported as such")
    func wrongPath() {
        let reply = UpstreamReply(status: 404, body: [])
        let error = #expect(throws: UpstreamError.self) { try reply.requireSuccess(hasAccount: false) }
        #expect(error?.code == .questionRefused && error?.message == "HTTP status 404: there is nothing at this path")
    }

    @Test("a refused account pauses its upstream for ten minutes")
    func refusedAccount() {
        var health = Self.health()
        health.failed(0, reaction: .leaveAlone, now: Self.at(0))
        #expect(health.choose(among: [0, 1], now: Self.at(599)) == .init(upstreams: [1]))
        #expect(health.choose(among: [0, 1], now: Self.at(600)) == .init(upstreams: [0, 1]))
    }

    @Test("a timeout that an upstream reports does not count if another question was answered meanwhile")
    func reportedTimeout() {
        let timeout = UpstreamSchedule.Event.failed(upstream: 0, .v4, UpstreamError(.timeLimit, "no answer"))
        var health = Self.health()
        let answer = UpstreamSchedule.Event.answered(upstream: 0, .v4, Answer())
        health.record(answer, after: .zero, now: Self.at(9))
        // All three questions were asked before the answer.
        for _ in 1...3 { health.record(timeout, after: .seconds(2), now: Self.at(10)) }
        #expect(!health.isDown(0, now: Self.at(10)))
        for second in 20...22 { health.record(timeout, after: .seconds(2), now: Self.at(second)) }
        #expect(health.isDown(0, now: Self.at(22)))
    }

    @Test("a change of network clears the failures of all upstreams")
    func networkChanged() {
        var health = Self.health(down: [0, 1])
        // The account may have been refused by a captive portal.
        health.failed(2, reaction: .leaveAlone, now: Self.at(0))
        health.networkChanged()
        #expect(health.choose(among: [0, 1, 2], now: Self.at(1)).upstreams == [0, 1, 2])
    }
}

@Suite("Order of endpoints")
struct EndpointRankingTests {
    static func at(_ seconds: Int) -> Moment { Moment(nanoseconds: Int64(seconds) * 1_000_000_000) }

    static func endpoint(_ text: String, port: UInt16 = 443) -> Endpoint { Endpoint(address(text), port: port) }

    static func order(_ ranking: EndpointRanking, v4: String, v6: String = "", at seconds: Int = 0) -> String {
        ranking.order(HostAddresses(v4: addresses(v4), v6: addresses(v6)), port: 443, now: at(seconds)).addresses
            .map(\.description).joined(separator: " ")
    }

    @Test(
        "families alternate with IPv6 first, and each family keeps the upstream's order",
        arguments: [
            ("192.0.2.1 192.0.2.2", "2001:db8::1", "2001:db8::1 192.0.2.1 192.0.2.2"),
            ("192.0.2.1", "2001:db8::2 2001:db8::1", "2001:db8::2 192.0.2.1 2001:db8::1"),
            ("192.0.2.2 192.0.2.1", "", "192.0.2.2 192.0.2.1"),
            ("", "2001:db8::1", "2001:db8::1"),
            ("", "", ""),
        ]
    )
    func interleaves(_ v4: String, _ v6: String, _ expected: String) {
        #expect(Self.order(EndpointRanking(limits: .init()), v4: v4, v6: v6) == expected)
    }

    @Test("a failed endpoint moves to the end for a growing time, until it succeeds")
    func demotes() {
        var ranking = EndpointRanking(limits: .init())
        ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(0))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", at: 29) == "192.0.2.2 192.0.2.1")
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", at: 30) == "192.0.2.1 192.0.2.2")
        ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(30))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", at: 89) == "192.0.2.2 192.0.2.1")
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", at: 90) == "192.0.2.1 192.0.2.2")
        ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(90))
        ranking.succeeded(Self.endpoint("192.0.2.1"), after: .zero, now: Self.at(90))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", at: 91) == "192.0.2.1 192.0.2.2")
    }

    @Test("the time at the end has an upper bound")
    func longestDemotion() {
        var ranking = EndpointRanking(limits: .init())
        for _ in 0..<100 { ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(0)) }
        #expect(ranking.isDemoted(Self.endpoint("192.0.2.1"), now: Self.at(599)))
        #expect(!ranking.isDemoted(Self.endpoint("192.0.2.1"), now: Self.at(600)))
    }

    @Test("each port of an address is its own endpoint")
    func ports() {
        var ranking = EndpointRanking(limits: .init())
        ranking.failed(Self.endpoint("192.0.2.1", port: 8_443), now: Self.at(0))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2") == "192.0.2.1 192.0.2.2")
    }

    @Test("among failed endpoints, the one with the shortest remaining time comes first")
    func amongDemoted() {
        var ranking = EndpointRanking(limits: .init())
        ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(0))
        ranking.failed(Self.endpoint("192.0.2.1"), now: Self.at(0))
        ranking.failed(Self.endpoint("2001:db8::1"), now: Self.at(0))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2", v6: "2001:db8::1") == "192.0.2.2 2001:db8::1 192.0.2.1")
    }

    @Test("measured endpoints are sorted among themselves, and unmeasured ones keep their places")
    func measured() {
        var ranking = EndpointRanking(limits: .init())
        let list = "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4"
        ranking.succeeded(Self.endpoint("192.0.2.1"), after: .milliseconds(100), now: Self.at(0))
        #expect(Self.order(ranking, v4: list) == list)
        ranking.succeeded(Self.endpoint("192.0.2.3"), after: .milliseconds(20), now: Self.at(0))
        #expect(Self.order(ranking, v4: list) == "192.0.2.3 192.0.2.2 192.0.2.1 192.0.2.4")
        ranking.succeeded(Self.endpoint("192.0.2.4"), after: .milliseconds(21), now: Self.at(0))
        #expect(Self.order(ranking, v4: list) == "192.0.2.3 192.0.2.2 192.0.2.4 192.0.2.1")
        #expect(Self.order(ranking, v4: list, at: 600) == list, "old measurements are forgotten")
    }

    @Test("small differences in time do not change the upstream's order")
    func equals() {
        var ranking = EndpointRanking(limits: .init())
        ranking.succeeded(Self.endpoint("192.0.2.1"), after: .milliseconds(7), now: Self.at(0))
        ranking.succeeded(Self.endpoint("192.0.2.2"), after: .milliseconds(1), now: Self.at(0))
        #expect(Self.order(ranking, v4: "192.0.2.1 192.0.2.2") == "192.0.2.1 192.0.2.2")
    }

    @Test("times are averaged over several attempts")
    func smoothed() {
        var ranking = EndpointRanking(limits: .init())
        for milliseconds in [100, 20, 20] {
            ranking.succeeded(Self.endpoint("192.0.2.1"), after: .milliseconds(milliseconds), now: Self.at(0))
        }
        #expect(ranking.roundTrip(Self.endpoint("192.0.2.1"), now: Self.at(1)) == .milliseconds(65))
    }

    @Test(
        "native IPv6 comes first, then IPv4, then tunnelled and local addresses (RFC 6724)",
        arguments: [
            ("192.0.2.1", "2002:c000:201::1", "192.0.2.1 2002:c000:201::1"),
            ("192.0.2.1", "2001::1", "192.0.2.1 2001::1"), ("192.0.2.1", "fd00::1", "192.0.2.1 fd00::1"),
            ("192.0.2.1", "fd00::1 2001:db8::1", "2001:db8::1 192.0.2.1 fd00::1"),
            // A socket for an IPv4-mapped address uses IPv4, so it does not come before the IPv4 addresses.
            ("192.0.2.1", "::ffff:192.0.2.7", "192.0.2.1 ::ffff:c000:207"),
        ]
    )
    func policyTable(_ v4: String, _ v6: String, _ expected: String) {
        #expect(Self.order(EndpointRanking(limits: .init()), v4: v4, v6: v6) == expected)
    }

    @Test("a unique local address counts as native for a machine that has one")
    func uniqueLocal() {
        var ranking = EndpointRanking(limits: .init())
        ranking.networkChanged(to: Network(id: "x", families: .both, localV6: address("fd00::99")))
        #expect(Self.order(ranking, v4: "192.0.2.1", v6: "fd00::1") == "fd00::1 192.0.2.1")
    }

    @Test("a machine with only a unique local IPv6 address prefers IPv4 to native IPv6 (RFC 6724 rule 5)")
    func uniqueLocalSource() {
        var ranking = EndpointRanking(limits: .init())
        ranking.networkChanged(to: Network(id: "x", families: .both, localV6: address("fd00::99")))
        #expect(Self.order(ranking, v4: "192.0.2.1", v6: "2001:db8::1") == "192.0.2.1 2001:db8::1")
        ranking.networkChanged(to: Network(id: "x", families: .both, localV6: address("2001:db8:9::99")))
        #expect(Self.order(ranking, v4: "192.0.2.1", v6: "2001:db8::1") == "2001:db8::1 192.0.2.1")
    }

    @Test("the ranking has a bound for the endpoints that it remembers")
    func bounded() {
        var limits = ResolverConfiguration.Ranking()
        limits.maxEndpoints = 100
        var ranking = EndpointRanking(limits: limits)
        for index in 0..<1_000 {
            ranking.failed(Endpoint(IPAddress(v4: UInt32(index)), port: 443), now: Self.at(index / 500))
        }
        #expect(ranking.count <= 100)
        #expect(ranking.isDemoted(Endpoint(IPAddress(v4: 999), port: 443), now: Self.at(3)))
    }
}

@Suite("Order of upstreams")
struct UpstreamOrderTests {
    @Test("the declared order ignores measurements", arguments: [UpstreamOrder.sequence, .race(2), .hedge])
    func declared(_ order: UpstreamOrder) {
        #expect(order.arrange(3, roundTrip: { .milliseconds(30 - $0 * 10) }, random: { 0.5 }) == [0, 1, 2])
    }

    @Test("the weighted order puts unmeasured upstreams first, then faster ones more often")
    func weighted() {
        #expect(
            UpstreamOrder.weighted.arrange(3, roundTrip: { $0 == 1 ? nil : .milliseconds(9) }, random: { 0 }) == [
                1, 0, 2,
            ]
        )
        var fuzz = Fuzz(seed: 1)
        var first = [0, 0]
        for _ in 0..<10_000 {
            let order = UpstreamOrder.weighted.arrange(
                2,
                roundTrip: { .milliseconds($0 == 0 ? 9 : 99) },
                random: { Double(fuzz.next() >> 11) / Double(1 << 53) }
            )
            #expect(order.sorted() == [0, 1])
            first[order[0]] += 1
        }
        #expect((8_900...9_300).contains(first[0]))
    }
}
