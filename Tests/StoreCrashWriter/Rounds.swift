// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar

/// Writes ascending numbers without end: n into the cookie `slot(n % 64)`, or deletes that cookie if n is divisible by 7.
/// It prints `begun n` before it writes the numbers up to n, and `flushed n` once they are flushed.
struct Rounds {
    private let store: CookieDatabase
    private var random: UInt64

    init(_ store: CookieDatabase, seed: UInt64) {
        self.store = store
        random = seed | 1
    }

    mutating func run() async throws {
        var number = store.jar.allCookies().compactMap { Int($0.value) }.max() ?? 0
        say("opened \(number)")
        while true {
            let last = number + 1 + Int(next() % 40)
            say("begun \(last)")
            while number < last {
                number += 1
                var cookie = Cookie("slot\(number % 64)", String(number), domain: "example.com")
                if number % 2 == 0 {
                    cookie.expires = CookieTime(microseconds: CookieTime.now.microseconds + 86_400_000_000)
                }
                if number % 7 == 0 { store.jar.remove(cookie) } else { store.jar.insert(cookie) }
            }
            // Some rounds are left to the store's background writer.
            if next() % 3 > 0 {
                try await store.flush()
                say("flushed \(number)")
            }
        }
    }

    private mutating func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }
}
