// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import BeelineTesting
import CookieJar
import GRDB
import Testing

@Suite("Tables of a cookie file that lose rows", .timeLimit(.minutes(10)))
struct ChurnTests {
    @Test("the records of deletions stay within their limit, and a store that misses some has the right cookies")
    func deletions() async throws {
        var configuration = CookieDatabaseConfiguration.onDemand
        configuration.maxDeletions = 20
        let pair = try await SharingTests.Pair(one: configuration, two: configuration)
        var random = SeededRandom(seed: 6265)
        var model: [String: String] = [:]
        for round in 0..<ChurnRounds.count / 500 {
            pair.set(one: Double(round), two: Double(round))
            // Fills the file, and then empties it.
            let share = round / 10 % 2 == 0 ? 8 : 2
            for change in 0..<15 {
                let name = "n\(Int.random(in: 0..<60, using: &random))"
                let value = Int.random(in: 0..<10, using: &random) < share ? "\(round)-\(change)" : nil
                if let value { pair.one.jar.put(name, value, seconds: 1e9) } else { pair.one.jar.take(name) }
                model[name] = value
            }
            try await pair.one.flush()
            let counts = try pair.folder.look { db in
                try ["cookie", "deletion"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0 }
            }
            #expect(counts[0] == model.count && counts[1] <= 20)
            // Sometimes late enough to miss deletions.
            guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
            try await pair.two.refresh()
            let cookies = pair.two.jar.allCookies().map { ($0.name, $0.value) }
            #expect(Dictionary(uniqueKeysWithValues: cookies) == model)
        }
        try await pair.close()
    }
}
