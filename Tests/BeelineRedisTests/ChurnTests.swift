// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Testing

@testable import BeelineRedis

@Suite("Tables of shared jars that lose entries", .timeLimit(.minutes(10)))
struct ChurnTests {
    @Test("the known versions stay within their limit, and those of stored cookies go last", arguments: [1, 20, 100])
    func knownVersions(maxKnown: Int) {
        let recorder = JarRecorder(capacity: 10, maxKnown: maxKnown, clock: { .now })
        var random = SeededRandom(seed: UInt64(maxKnown))
        for round in 0..<ChurnRounds.count / 10 {
            let number = Int.random(in: 0..<maxKnown * 2, using: &random)
            let cookie = Cookie("n\(number)", "\(round)", domain: "shop.test")
            let key = CookieKey(cookie)
            // Fills the table with stored cookies, and then with deleted ones.
            let isStored = Int.random(in: 0..<10, using: &random) < (round / 500 % 2 == 0 ? 9 : 1)
            let before = recorder.snapshot.known
            if Bool.random(using: &random) {
                let kind: CookieChange.Kind = isStored ? .replaced : .removed(.explicit)
                recorder.note([CookieChange(kind: kind, cookie: cookie, time: .now, source: nil)])
            } else {
                let update = JarUpdate(key: key, version: recorder.stamp(), cookie: isStored ? cookie : nil)
                #expect(!recorder.keepsOwn(update, winsTies: false))
            }
            let after = recorder.snapshot.known
            #expect(after.count <= maxKnown)
            if let known = after[key] { #expect(known.kind == (isStored ? .stored : .removed)) }
            #expect(after.allSatisfy { $0.key == key || before[$0.key] == $0.value })
            let lost = before.filter { $0.key != key && after[$0.key] == nil }
            if lost.contains(where: { $0.value.kind == .stored }) {
                #expect(after.allSatisfy { $0.value.kind == .stored })
            }
        }
    }
}
#endif
