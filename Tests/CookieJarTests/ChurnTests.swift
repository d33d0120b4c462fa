// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Domains that come and go. A table with deletions must still find its entries, and must end its search for missing
/// ones.
///
/// `BEELINE_CHURN` sets the number of steps; each step sets or deletes a cookie and looks up cookies.
@Suite(.timeLimit(.minutes(10)))
struct ChurnTests {
    private static let steps = ProcessInfo.processInfo.environment["BEELINE_CHURN"].flatMap { Int($0) } ?? 50_000

    /// A host of sixty labels and its parent domains. A server can set and delete a cookie for each of them.
    private static let labels = (1...60).map(String.init) + ["evil", "com"]

    @Test(arguments: [(live: 8, domains: 60), (live: 2000, domains: 4000)])
    func cookiesThatAreSetAndDeletedInTurn(_ size: (live: Int, domains: Int)) throws {
        var configuration = CookieJarConfiguration()
        configuration.maxCookies = 10_000
        let jar = CookieJar(configuration: configuration)
        let isDeep = size.domains == 60
        let domains =
            isDeep
            ? (0..<60).map { Self.labels.suffix(62 - $0).joined(separator: ".") }
            : (0..<size.domains).map { "host\($0).site\($0 % 700).example" }
        let urls = try domains.map { try HTTPURL("https://\(isDeep ? Self.labels.joined(separator: ".") : $0)/") }
        var generator = SeededGenerator(seed: 6265)
        var live: [Int] = []
        for step in 0..<Self.steps {
            let number = Int.random(in: 0..<size.domains, using: &generator)
            if live.count < size.live {
                let outcome = jar.store("a=\(step); Domain=\(domains[number])", from: urls[number], now: noon)
                if outcome == .kept { live.append(number) }
            } else {
                let place = Int.random(in: live.indices, using: &generator)
                live.swapAt(place, live.count - 1)
                let gone = live.removeLast()
                let outcome = jar.store("a=; Domain=\(domains[gone]); Max-Age=0", from: urls[gone], now: noon)
                try #require(outcome == .deleted)
            }
            _ = jar.header(for: urls[number], now: noon)
            guard step % 1000 == 0 else { continue }
            #expect(jar.allCookies(now: noon).map(\.domain).sorted() == live.map { domains[$0] }.sorted())
        }
        for number in live { jar.store("a=; Domain=\(domains[number]); Max-Age=0", from: urls[number], now: noon) }
        #expect(jar.allCookies(now: noon).isEmpty)
    }
}
