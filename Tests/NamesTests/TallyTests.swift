// SPDX-License-Identifier: Apache-2.0

import Names
import Testing

@Suite("Counts and comparisons that several targets share")
struct TallyTests {
    @Test("a key is counted up to a limit, and its count ends at zero")
    func tally() {
        var tally = Tally<String>()
        #expect(tally.add("a", limit: 1) && !tally.add("a", limit: 1) && tally.add("b", limit: 1))
        tally.remove("a")
        tally.remove("a")
        #expect(tally["a"] == 0 && tally["b"] == 1)
        #expect(tally.add("a", 3, limit: 3) && !tally.add("a", 1, limit: 3) && !tally.add("c", 4, limit: 3))
        tally.remove("a", 2)
        #expect(tally["a"] == 1 && tally["c"] == 0)
        tally.remove("a", 2)
        #expect(tally["a"] == 0)
        tally.add("a")
        #expect(tally["a"] == 1)
    }

    @Test("secrets are equal only if all octets are")
    func secrets() {
        let rows: [(String, String, Bool)] = [
            ("", "", true), ("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false), ("", "a", false),
        ]
        for (one, other, isEqual) in rows {
            #expect(ConstantTime.equal(one.utf8, other.utf8) == isEqual)
            #expect(ConstantTime.equal(other.utf8, Array(one.utf8)) == isEqual)
        }
    }
}
