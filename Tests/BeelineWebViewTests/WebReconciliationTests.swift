// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Testing

@testable import BeelineWebView

/// A sequence of states of one cookie on both sides, each with the expected action.
@Suite("Deciding between a jar and a web store")
struct WebReconciliationTests {
    struct Look: Sendable {
        let jar: String?
        let store: String?
        /// Milliseconds since the start.
        let time: Int
        let action: String

        init(jar: String?, store: String?, at time: Int, action: String) {
            (self.jar, self.store, self.time, self.action) = (jar, store, time, action)
        }
    }

    struct Story: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let looks: [Look]
        var unfinished = 0

        init(_ sentence: String, unfinished: Int = 0, _ looks: [Look]) {
            (testDescription, self.unfinished, self.looks) = (sentence, unfinished, looks)
        }
    }

    static let stories: [Story] = [
        Story(
            "a requested change shows",
            [Look(jar: "1", store: nil, at: 0, action: "set 1"), Look(jar: "1", store: "1", at: 10, action: "")]
        ),
        Story(
            "a change that does not show is awaited, and requested again",
            [
                Look(jar: "1", store: nil, at: 0, action: "set 1"), Look(jar: "1", store: nil, at: 50, action: ""),
                Look(jar: "1", store: nil, at: 100, action: "set 1"),
                Look(jar: "1", store: nil, at: 150, action: ""), Look(jar: "1", store: "1", at: 160, action: ""),
            ]
        ),
        Story(
            "a value that never shows is given up, and offered again when it changes",
            unfinished: 1,
            [
                Look(jar: "1", store: nil, at: 0, action: "set 1"),
                Look(jar: "1", store: nil, at: 100, action: "set 1"),
                Look(jar: "1", store: nil, at: 200, action: "set 1"),
                Look(jar: "1", store: nil, at: 300, action: ""), Look(jar: "1", store: nil, at: 400, action: ""),
                Look(jar: "2", store: nil, at: 500, action: "set 2"),
            ]
        ),
        Story(
            "an earlier value of ours that shows late is not a change",
            [
                Look(jar: "1", store: nil, at: 0, action: "set 1"),
                Look(jar: "2", store: nil, at: 100, action: "set 2"), Look(jar: "2", store: "1", at: 150, action: ""),
                Look(jar: "2", store: "1", at: 200, action: "set 2"), Look(jar: "2", store: "2", at: 210, action: ""),
            ]
        ),
        Story(
            "a value that the page wrote after ours is a change",
            [
                Look(jar: "1", store: nil, at: 0, action: "set 1"), Look(jar: "1", store: "9", at: 10, action: "jar 9"),
                Look(jar: "9", store: "9", at: 20, action: ""),
            ]
        ),
        Story(
            "if both sides keep changing, the source of truth wins",
            [
                Look(jar: "1", store: nil, at: 0, action: "set 1"), Look(jar: "2", store: "9", at: 10, action: "set 2"),
                Look(jar: "2", store: "2", at: 20, action: ""),
            ]
        ),
        Story(
            "a deletion that does not happen is requested again, and the cookie does not return",
            [
                Look(jar: "1", store: "1", at: 0, action: ""), Look(jar: nil, store: "1", at: 10, action: "delete 1"),
                Look(jar: nil, store: "1", at: 20, action: ""),
                Look(jar: nil, store: "1", at: 110, action: "delete 1"),
                Look(jar: nil, store: nil, at: 120, action: ""),
            ]
        ),
        Story(
            "a deletion that never happens is given up, and the cookie does not return",
            unfinished: 1,
            [
                Look(jar: "1", store: "1", at: 0, action: ""), Look(jar: nil, store: "1", at: 10, action: "delete 1"),
                Look(jar: nil, store: "1", at: 110, action: "delete 1"),
                Look(jar: nil, store: "1", at: 210, action: "delete 1"),
                Look(jar: nil, store: "1", at: 310, action: ""), Look(jar: nil, store: "1", at: 900, action: ""),
            ]
        ),
        Story(
            "a login in the page after our deletion is a change",
            [
                Look(jar: "1", store: "1", at: 0, action: ""), Look(jar: nil, store: "1", at: 10, action: "delete 1"),
                Look(jar: nil, store: "9", at: 20, action: "jar 9"),
            ]
        ),
        Story(
            "a change that the jar reverts while it is under way is reverted in the store too",
            [
                Look(jar: "0", store: "0", at: 0, action: ""), Look(jar: "1", store: "0", at: 10, action: "set 1"),
                Look(jar: "0", store: "0", at: 50, action: ""),
                Look(jar: "0", store: "1", at: 60, action: "set 0"), Look(jar: "0", store: "0", at: 70, action: ""),
            ]
        ),
        Story(
            "a logout in the page",
            [
                Look(jar: "1", store: "1", at: 0, action: ""), Look(jar: "1", store: nil, at: 10, action: "jar -"),
                Look(jar: nil, store: nil, at: 20, action: ""),
            ]
        ),
    ]

    @Test("each state of a slow or failing store leads to the action in its row", arguments: stories)
    func tells(_ story: Story) {
        var configuration = WebCookieFollowing.Configuration()
        (configuration.attempts, configuration.retryDelay) = (3, .milliseconds(100))
        var reconciliation = WebReconciliation(configuration) { $0 }
        for (number, look) in story.looks.enumerated() {
            let (jar, store) = (Self.side(look.jar), Self.side(look.store))
            let plan = reconciliation.plan(jar: jar, store: store, now: .now, elapsed: .milliseconds(look.time))
            #expect(Self.text(plan) == look.action, "look \(number + 1)")
            var after = jar
            for (new, _) in plan.jar.intoJar { after[CookiePlace(new)] = new }
            for old in plan.jar.outOfJar { after[CookiePlace(old)] = nil }
            reconciliation.settle(jar: after, store: store, outdated: [])
        }
        #expect(reconciliation.report.unfinished.count == story.unfinished)
    }

    private static func side(_ value: String?) -> [CookiePlace: Cookie] {
        guard let value else { return [:] }
        let cookie = Cookie("a", value, domain: "a.test")
        return [CookiePlace(cookie): cookie]
    }

    private static func text(_ plan: WebReconciliation.Plan) -> String {
        let words =
            plan.jar.intoJar.map { "jar \($0.new.value)" } + plan.jar.outOfJar.map { _ in "jar -" }
            + plan.set.map { "set \($0.value)" } + plan.delete.map { "delete \($0.value)" }
        return words.joined(separator: ", ")
    }
}
