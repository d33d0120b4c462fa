// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import BeelineCommand

/// Texts of random tokens for the parsers of the command line. None traps.
@Suite("Fuzz: command line")
struct CommandFuzzTests {
    /// A linear congruential generator, so that a failure can be repeated.
    private struct Texts {
        var state: UInt64
        let tokens: [String]

        mutating func number(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }

        mutating func next() -> String {
            (0..<number(below: 12)).map { _ in tokens[number(below: tokens.count)] }.joined()
        }
    }

    @Test("a pattern of any text is rejected, or has a first and a last URL")
    func patterns() throws {
        let tokens = [
            "{", "}", "[", "]", ",", "-", ":", "\\", "0", "9", "001", "a", "Z", "<n>", "é", "::1", "9999999999",
        ]
        var texts = Texts(state: 1, tokens: tokens)
        for _ in 0..<2_000 {
            let text = texts.next()
            guard let pattern = try? URLPattern(text) else { continue }
            #expect(pattern.count > 0, "\(text.debugDescription)")
            _ = (pattern.text(at: 0), pattern.text(at: pattern.count - 1))
        }
    }

    @Test("a file of options of any text has options with names, on lines of the file")
    func optionFiles() {
        let tokens = ["\n", "\r", "#", "-", "--", "=", ":", " ", "\t", "\"", "\\", "url", "o", "é", "\u{0}", "\\n"]
        var texts = Texts(state: 2, tokens: tokens)
        for _ in 0..<2_000 {
            let text = texts.next()
            let count = text.unicodeScalars.count { $0 == "\n" } + 1
            for line in OptionFile(parsing: text).lines {
                #expect((1...count).contains(line.number), "\(text.debugDescription)")
            }
        }
    }
}
