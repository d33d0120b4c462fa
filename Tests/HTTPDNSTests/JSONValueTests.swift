// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPDNS

@Suite("JSON of upstreams")
struct JSONValueTests {
    @Test(
        "valid JSON texts are read",
        arguments: [
            ("null", JSONValue.null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .number("0")),
            ("-12.5e+3", .number("-12500")), (#""a\"b\\\/\n\u00e9\ud83d\ude00""#, .string("a\"b\\/\né😀")),
            ("[]", .array([])), ("[1, [2]]", .array([.number("1"), .array([.number("2")])])), ("{}", .object([:])),
            ("[1,]", .array([.number("1")])), ("12345678901234567890", .number("1.2345678901234567e+19")),
        ]
    )
    func reads(_ text: String, _ value: JSONValue) {
        #expect(JSONValue(Array(text.utf8)) == value)
    }

    @Test(
        "invalid JSON texts are refused",
        arguments: [
            "", " ", "nul", "nullx", "01", "1.", ".5", "1e", "+1", "-", "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud83d\"",
            "\"\\udc00\"", "\"\n\"", "[", "[1", "[1 2]", "{", "{1:2}", "{\"a\"}", "{\"a\":}", "1e999",
            "[] []",
            String(repeating: "[", count: 17) + String(repeating: "]", count: 17),
            "[" + String(repeating: "1,", count: JSONValue.maxValues) + "1]",
        ]
    )
    func refuses(_ text: String) {
        #expect(JSONValue(Array(text.utf8)) == nil)
    }

    @Test("text that is not UTF-8 is refused")
    func notUnicode() {
        #expect(JSONValue([0x22, 0xff, 0x22]) == nil)
    }

    @Test("a quoted string is read back unchanged")
    func quotes() {
        for text in ["", "a\"b\\c", "\u{0}\u{1f}\n", "é😀"] {
            #expect(JSONValue(Array(JSONText.quoted(text).utf8)) == .string(text))
        }
    }

    @Test("a whole number is an integer in any notation", arguments: ["60", "6e1", "60.0", "6.0E+1"])
    func wholeNumbers(_ text: String) throws {
        let value = try #require(JSONValue(Array("[\(text)]".utf8)))
        #expect(value.array?.first?.integer == 60)
        let large = try #require(JSONValue(Array("[299999999999999998.5]".utf8)))
        #expect(JSONValue(Array(large.text.utf8)) == large)
    }

    @Test("no octets make the reader trap, and each value is read again from its own text")
    func fuzz() {
        var fuzz = Fuzz(seed: 8_259)
        let seeds = [
            #"{"code":"success","mode":0,"data":{"cip":"203.0.113.9","answers":[{"dn":"a","v4":{"ips":["192.0.2.1"]}}]}}"#,
            #"{"Status":0,"Question":[{"name":"example.com.","type":1}],"Answer":[{"TTL":60,"data":"\u00e9"}]}"#,
            "[1,-2.5e3,true,null,[],{}]",
        ].map { Array($0.utf8) }
        for _ in 0..<Fuzz.rounds {
            guard let value = JSONValue(fuzz.mutate(seeds)) else { continue }
            #expect(JSONValue(Array(value.text.utf8)) == value)
        }
    }
}
