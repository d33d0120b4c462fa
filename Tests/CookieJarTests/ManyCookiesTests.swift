// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// Files with more cookies than a jar or a domain can hold.
struct ManyCookiesTests {
    @Test func anArchiveOfMoreCookiesThanAJarHoldsIsReadWhole() throws {
        let entries = (0..<4000).map { number in
            """
            {"request":{"url":"https://host-\(number).example/"},
             "response":{"headers":[{"name":"Set-Cookie","value":"a=\(number)"}]}}
            """
        }
        let archive = "{\"log\":{\"entries\":[\(entries.joined(separator: ","))]}}"
        let read = CookieJSON.read(Array(archive.utf8), now: noon)
        #expect(read.cookies.count == 4000 && read.problems.isEmpty)
    }

    @Test func cookiesOfAnArchiveThatGaveWayInTheirDomainAreReported() throws {
        let entries = (0..<200).map { number in
            """
            {"request":{"url":"https://example.com/"},
             "response":{"headers":[{"name":"Set-Cookie","value":"n\(number)=1"}]}}
            """
        }
        let archive = "{\"log\":{\"entries\":[\(entries.joined(separator: ","))]}}"
        let read = CookieJSON.read(Array(archive.utf8), now: noon)
        #expect(read.cookies.count == 180)
        #expect(read.problems.map(\.line) == Array(1...20))
        #expect(read.problems.allSatisfy { $0.reason == CookieRejection.noRoom.description })
    }

    @Test func aPlanForMoreCookiesThanAJarHoldsRefusesNone() throws {
        let address = try #require(IPAddress("192.0.2.1"))
        let cookies = (0..<400).map { Cookie("n\($0)", "1", domain: "192.0.2.1") }
        let plan = RehomingPlan(cookies, from: address, to: try Host("example.com"), now: noon)
        #expect(plan.moves.count == 400 && plan.refused.isEmpty)
    }

    @Test func addressesThatEndInTheSameNumbersAreNoCrowdedSite() throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 100
        let jar = CookieJar(configuration: configuration)
        for (host, count) in [("a.test", 40), ("192.168.1.1", 35), ("10.9.1.1", 35), ("b.test", 1)] {
            for number in 0..<count { try jar.set("n\(number)=1", from: "https://\(host)/") }
        }
        let kept = Dictionary(grouping: jar.allCookies(now: noon), by: \.domain).mapValues(\.count)
        #expect(kept == ["a.test": 29, "192.168.1.1": 35, "10.9.1.1": 35, "b.test": 1], "the oldest give way")
    }
}
