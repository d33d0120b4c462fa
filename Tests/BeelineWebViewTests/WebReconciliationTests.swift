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

        init(_ jar: String?, _ store: String?, at time: Int, _ action: String) {
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
        Story("a requested change shows", [Look("1", nil, at: 0, "set 1"), Look("1", "1", at: 10, "")]),
        Story(
            "a change that does not show is awaited, and requested again",
            [
                Look("1", nil, at: 0, "set 1"), Look("1", nil, at: 50, ""), Look("1", nil, at: 100, "set 1"),
                Look("1", nil, at: 150, ""), Look("1", "1", at: 160, ""),
            ]
        ),
        Story(
            "a value that never shows is given up, and offered again when it changes",
            unfinished: 1,
            [
                Look("1", nil, at: 0, "set 1"), Look("1", nil, at: 100, "set 1"), Look("1", nil, at: 200, "set 1"),
                Look("1", nil, at: 300, ""), Look("1", nil, at: 400, ""), Look("2", nil, at: 500, "set 2"),
            ]
        ),
        Story(
            "an earlier value of ours that shows late is not a change",
            [
                Look("1", nil, at: 0, "set 1"), Look("2", nil, at: 100, "set 2"), Look("2", "1", at: 150, ""),
                Look("2", "1", at: 200, "set 2"), Look("2", "2", at: 210, ""),
            ]
        ),
        Story(
            "a value that the page wrote after ours is a change",
            [Look("1", nil, at: 0, "set 1"), Look("1", "9", at: 10, "jar 9"), Look("9", "9", at: 20, "")]
        ),
        Story(
            "if both sides keep changing, the source of truth wins",
            [Look("1", nil, at: 0, "set 1"), Look("2", "9", at: 10, "set 2"), Look("2", "2", at: 20, "")]
        ),
        Story(
            "a deletion that does not happen is requested again, and the cookie does not return",
            [
                Look("1", "1", at: 0, ""), Look(nil, "1", at: 10, "delete 1"), Look(nil, "1", at: 20, ""),
                Look(nil, "1", at: 110, "delete 1"), Look(nil, nil, at: 120, ""),
            ]
        ),
        Story(
            "a deletion that never happens is given up, and the cookie does not return",
            unfinished: 1,
            [
                Look("1", "1", at: 0, ""), Look(nil, "1", at: 10, "delete 1"), Look(nil, "1", at: 110, "delete 1"),
                Look(nil, "1", at: 210, "delete 1"), Look(nil, "1", at: 310, ""), Look(nil, "1", at: 900, ""),
            ]
        ),
        Story(
            "a login in the page after our deletion is a change",
            [Look("1", "1", at: 0, ""), Look(nil, "1", at: 10, "delete 1"), Look(nil, "9", at: 20, "jar 9")]
        ),
        Story(
            "a change that the jar reverts while it is under way is reverted in the store too",
            [
                Look("0", "0", at: 0, ""), Look("1", "0", at: 10, "set 1"), Look("0", "0", at: 50, ""),
                Look("0", "1", at: 60, "set 0"), Look("0", "0", at: 70, ""),
            ]
        ),
        Story(
            "a logout in the page",
            [Look("1", "1", at: 0, ""), Look("1", nil, at: 10, "jar -"), Look(nil, nil, at: 20, "")]
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
