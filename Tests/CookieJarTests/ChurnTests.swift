// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Cookies and changes that come and go. A table with deletions must still find its entries, must end its search for missing
/// ones, and must stay within its limits.
///
/// `BEELINE_CHURN` sets the number of steps; each step sets or deletes a cookie, or looks up cookies.
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

    /// A cookie by its host and its name.
    private struct Key: Hashable {
        let host: Int
        let name: Int
    }

    @Test func aJarThatIsFilledBeyondItsLimitsAndEmptiedInTurn() throws {
        var configuration = CookieJarConfiguration()
        (configuration.maxCookies, configuration.maxCookiesPerDomain) = (50, 8)
        let jar = CookieJar(configuration: configuration)
        var generator = SeededGenerator(seed: 57)
        // The step in which each cookie was stored, which is also its value.
        var model: [Key: Int] = [:]
        let steps = Self.steps / 5
        for step in 0..<steps {
            let isFilling = step / 500 % 2 == 0
            let gone = model.sorted { $0.value < $1.value }.randomElement(using: &generator)?.key
            if let gone, Int.random(in: 0..<10, using: &generator) < (isFilling ? 1 : 9) {
                let url = "https://host\(gone.host).example/"
                let outcome = try jar.set("n\(gone.name)=; Max-Age=0", from: url, at: Double(step))
                try #require(outcome == .deleted)
                model[gone] = nil
            } else {
                let host = Int.random(in: 0..<20, using: &generator)
                let key = Key(host: host, name: Int.random(in: 0..<16, using: &generator))
                let url = "https://host\(host).example/"
                let expected: CookieOutcome = model[key] == nil ? .kept : .replaced
                let outcome = try jar.set("n\(key.name)=\(step)", from: url, at: Double(step))
                try #require(outcome == expected)
                model[key] = step
                let own = model.filter { $0.key.host == host }
                if own.count > 8, let oldest = own.min(by: { $0.value < $1.value }) { model[oldest.key] = nil }
                // Above a tenth more, the jar goes back to its limit.
                let excess = model.count > 55 ? model.count - 50 : 0
                for old in model.sorted(by: { $0.value < $1.value }).prefix(excess) { model[old.key] = nil }
            }
            guard step % 100 == 0 || step == steps - 1 else { continue }
            let expected = model.map { key, step in "host\(key.host).example n\(key.name)=\(step)" }.sorted()
            let cookies = jar.allCookies(now: .after(Double(step)))
            #expect(cookies.map { "\($0.domain) \($0.name)=\($0.value)" }.sorted() == expected)
        }
    }

    @Test func changesThatAreTakenPutBackAndOutrankedInTurn() {
        let capacity = 20
        var pending = PendingChanges(capacity: capacity)
        var generator = SeededGenerator(seed: 73)
        // The latest change of each cookie; nil after an overrun.
        var model: [String: PendingChanges.Entry.Kind]? = [:]
        var failed: (batch: PendingChanges.Batch, model: [String: PendingChanges.Entry.Kind]?)?
        for step in 0..<Self.steps / 5 {
            let name = "n\(Int.random(in: 0..<30, using: &generator))"
            let cookie = Cookie(name, "\(step)", domain: "example.com")
            switch Int.random(in: 0..<40, using: &generator) {
            case 0..<30:
                let isStored = Bool.random(using: &generator)
                let kind: CookieChange.Kind = isStored ? .replaced : .removed(.explicit)
                pending.note(CookieChange(kind: kind, cookie: cookie, time: noon, source: nil), at: noon)
                if let known = model, known[name] == nil, known.count >= capacity { model = nil }
                model?[name] = isStored ? .stored : .removed
            case 30..<34:
                let isNewer = Bool.random(using: &generator)
                let isOwnNewer = !isNewer && model?[name] != nil
                #expect(pending.outranks(CookieKey(cookie), updated: isNewer ? .max : .min) == isOwnNewer)
                if isNewer { model?[name] = nil }
            case 34..<37:
                let batch = pending.take()
                if case .changes(let entries) = batch {
                    #expect(Dictionary(uniqueKeysWithValues: entries.map { ($0.cookie.name, $0.kind) }) == model)
                } else {
                    #expect(model == nil)
                }
                failed = (batch, model)
                model = [:]
            default:
                guard let (batch, older) = failed else { continue }
                pending.putBack(batch)
                model = older.flatMap { older in model?.merging(older) { newer, _ in newer } }
                failed = nil
            }
            #expect(pending.isOverrun == (model == nil))
            #expect(pending.count == (model?.count ?? capacity))
            #expect(pending.keys == Set((model ?? [:]).keys.map { CookieKey(Cookie($0, "", domain: "example.com")) }))
        }
    }
}
