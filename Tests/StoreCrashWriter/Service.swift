// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import Names

/// Executes the commands on standard input, one per line, and answers each with one line.
struct Service {
    private let store: CookieDatabase

    init(_ store: CookieDatabase) { self.store = store }

    func run() async throws {
        say("opened")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "set" where words.count == 3:
                store.jar.insert(Cookie(words[1], words[2], domain: "example.com"))
                say("ok")
            case "remove" where words.count == 2:
                store.jar.remove(Cookie(words[1], "", domain: "example.com"))
                say("ok")
            case "many" where words.count == 3:
                for number in 0..<(Int(words[2]) ?? 0) {
                    store.jar.insert(Cookie("\(words[1])\(number)", "x", domain: "\(words[1])\(number / 100).example"))
                    if number % 25 == 0 { try await store.flush() }
                }
                say("ok")
            case "flush":
                try await store.flush()
                say("ok")
            case "refresh":
                try await store.refresh()
                say("ok")
            case "count": say(String(store.jar.allCookies().count))
            case "get": say(store.jar.header(for: try HTTPURL("https://example.com/")) ?? "")
            case "await" where words.count == 2:
                await wait(for: words[1])
                say("ok")
            case "close":
                try await store.close()
                say("ok")
                return
            default: say("error \(line)")
            }
        }
    }

    /// Returns when the jar's header for https://example.com/ equals `header`; `-` means no header.
    private func wait(for header: String) async {
        var changes = store.jar.changes.makeAsyncIterator()
        let isThere = {
            let now = (try? HTTPURL("https://example.com/")).flatMap { store.jar.header(for: $0) }
            return now ?? "-" == header
        }
        while !isThere(), await changes.next() != nil {}
    }
}
