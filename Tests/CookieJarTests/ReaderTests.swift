// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Dispatch
import Foundation
import Names
import Testing

/// Threads that share one jar.
struct ReaderTests {
    @Test func eightThreadsThatStoreAndReadLoseNoUpdate() throws {
        let jar = CookieJar()
        let urls = try (0..<8).map { try HTTPURL("https://host-\($0).shared.example/") }
        // Threads, not tasks: on a machine with two processors, eight tasks run on only two threads.
        let done = DispatchSemaphore(value: 0)
        for (number, url) in urls.enumerated() {
            let thread = Thread {
                for index in 0..<200 {
                    jar.store("own\(index % 50)=\(index); Path=/", from: url, now: .after(Double(index)))
                    jar.store(
                        "n\(number)=\(index); Path=/; Domain=shared.example",
                        from: url,
                        now: .after(Double(index))
                    )
                    _ = jar.header(for: urls[(number + index) % 8], now: .after(Double(index)))
                    if index % 10 == 9 { jar.store("gone=\(index); Max-Age=0", from: url, now: .after(Double(index))) }
                }
                done.signal()
            }
            thread.start()
        }
        for _ in urls { try #require(done.wait(timeout: .now() + 60) == .success) }
        for url in urls {
            let pairs = Set((jar.header(for: url, now: .after(300)) ?? "").split(separator: "; ").map(String.init))
            let own = (150..<200).map { "own\($0 % 50)=\($0)" }
            #expect(pairs == Set(own + (0..<8).map { "n\($0)=199" }))
        }
    }
}
