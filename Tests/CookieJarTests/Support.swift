// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Names
import Testing

/// 1 March 2026, 12:00 UTC, the current time of the tests.
let noon = CookieTime(secondsSince1970: 1_772_366_400)

extension CookieTime {
    /// The time `seconds` after `noon`.
    static func after(_ seconds: Double) -> CookieTime {
        CookieTime(secondsSince1970: noon.secondsSince1970 + seconds)
    }
}

extension CookieJar {
    /// Stores a Set-Cookie field of a response from `url`.
    @discardableResult
    func set(
        _ field: String,
        from url: String,
        context: CookieContext = CookieContext(),
        at seconds: Double = 0
    ) throws -> CookieOutcome {
        store(field, from: try HTTPURL(url), context: context, now: .after(seconds))
    }

    /// The Cookie header field of a request for `url`; nil if there is none.
    func get(_ url: String, _ context: CookieContext = CookieContext(), at seconds: Double = 0) throws -> String? {
        header(for: try HTTPURL(url), context: context, now: .after(seconds))
    }
}

/// One row of a table: the fields of responses, and the cookies of the requests that follow.
struct Story: CustomTestStringConvertible, Sendable {
    /// A step of a story.
    struct Step: Sendable {
        fileprivate let run: @Sendable (CookieJar, _ number: Int, SourceLocation) throws -> Void

        /// A response from a URL sets a field, with an outcome.
        static func set(
            _ field: String,
            from url: String,
            as context: CookieContext = CookieContext(),
            at seconds: Double = 0,
            _ outcome: CookieOutcome
        ) -> Step {
            Step { jar, number, location in
                let got = try jar.set(field, from: url, context: context, at: seconds)
                #expect(got == outcome, "step \(number): \(field)", sourceLocation: location)
            }
        }

        /// A request for a URL sends a header.
        static func get(
            _ url: String,
            as context: CookieContext = CookieContext(),
            at seconds: Double = 0,
            _ header: String?
        ) -> Step {
            Step { jar, number, location in
                let got = try jar.get(url, context, at: seconds)
                #expect(got == header, "step \(number): \(url)", sourceLocation: location)
            }
        }
    }

    let sentence: String
    let steps: [Step]

    init(_ sentence: String, _ steps: [Step]) {
        self.sentence = sentence
        self.steps = steps
    }

    var testDescription: String { sentence }

    /// Runs the story with a jar and checks each step.
    func play(in jar: CookieJar = CookieJar(), sourceLocation: SourceLocation = #_sourceLocation) throws {
        for (index, step) in steps.enumerated() { try step.run(jar, index + 1, sourceLocation) }
    }
}

/// SplitMix64, so that each run has the same numbers. A copy of `SeededRandom`, because these tests do not depend on
/// BeelineTesting and are built without NIO's servers and TLS.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
