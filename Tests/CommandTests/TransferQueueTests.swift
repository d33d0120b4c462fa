// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@testable import BeelineCommand

/// Patterns in URLs, the names of output files, dates and sizes.
struct TransferQueueTests {
    static let patterns: [(text: String, urls: [String])] = [
        ("http://a/", ["http://a/"]), ("{a,b}", ["a", "b"]), ("x[1-3]", ["x1", "x2", "x3"]),
        ("[08-10]", ["08", "09", "10"]), ("[1-10:4]", ["1", "5", "9"]), ("[a-e:2]", ["a", "c", "e"]),
        ("{a,}[1-2]", ["a1", "a2", "1", "2"]), ("{<n>a,b}", ["a", "b"]), ("\\{a\\}\\[1\\]", ["{a}[1]"]),
        ("{a\\,b,c}", ["a,b", "c"]), ("http://[::1]/[]", ["http://[::1]/[]"]), ("[a-a][1-1]", ["a1"]),
        ("http://[fe80::1%25eth0]:8080/[1-2]", ["http://[fe80::1%25eth0]:8080/1", "http://[fe80::1%25eth0]:8080/2"]),
    ]

    @Test(arguments: patterns)
    func aPatternIsSeveralURLs(_ row: (text: String, urls: [String])) throws {
        let pattern = try URLPattern(row.text)
        #expect((0..<pattern.count).map { pattern.text(at: $0).text } == row.urls, "\(row.text)")
        #expect(URLPattern(literal: row.text).text(at: 0).text == row.text)
    }

    @Test(arguments: [
        "{a", "a}", "[1-2", "1]", "{}", "{a{b}}", "[2-1]", "[1-2:0]", "[1-2:x]", "[b-a]", "[A-z]", "[1-1:2]", "[a]",
        "[1-99999999999999999999]", "[0-9223372036854775807]", "{<n>a}{<n>b}",
        "[1-9000000000][1-9000000000][1-9000000000]",
        // A step above the number of letters.
        "[a-e:30]", "[a-z:26]", "[a-e:9223372036854775807]",
    ])
    func aWrongPatternIsAMalformedURL(_ text: String) {
        let failure = #expect(throws: CommandFailure.self) { try URLPattern(text) }
        #expect(failure?.status == .malformedURL && failure?.message.contains("position") == true)
    }

    @Test func aHugePatternTakesNoMemory() throws {
        let pattern = try URLPattern("[0-999999999][a-z]")
        #expect(pattern.count == 26_000_000_000 && pattern.text(at: pattern.count - 1).text == "999999999z")
    }

    @Test func noTextMakesAPatternTrap() {
        var random = SeededRandom(seed: 3)
        let alphabet = Array("{}[],-:<>\\a9%é0")
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            let text = String(
                (0..<Int(random.next() % 16)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
            )
            guard let pattern = try? URLPattern(text), pattern.count > 0 else { continue }
            _ = pattern.text(at: 0)
            _ = pattern.text(at: pattern.count - 1)
        }
    }

    // MARK: Transfers

    private func transfers(_ line: String...) throws -> [Transfer] {
        let parts = try FetchParser.fetches(line, files: FetchPlanTests.files)
        return try parts.flatMap { try FetchPlan($0, defaults: Defaults(), files: FetchPlanTests.files).transfers() }
    }

    @Test func choicesNameTheFiles() throws {
        let named = try transfers("http://a.test/{x,y}[1-2]", "-o", "#1-#2.#3#", "-g", "http://a.test/{z}")
        #expect(named.map(\.output).prefix(1) == [.file("#1-#2.#3#")], "with -g there are no choices")
        let four = try transfers("http://a.test/{x,y}[1-2]", "-o", "#1-#2.#3#")
        #expect(four.map(\.output) == ["x-1", "x-2", "y-1", "y-2"].map { .file("\($0).#3#") })
        #expect(four.map(\.number) == [0, 0, 0, 0])
        #expect(try transfers("http://a.test/{<n>x}", "-o", "f#<n>").map(\.output) == [.file("fx")])
        let failure = #expect(throws: CommandFailure.self) { try transfers("http://a.test/{<n>x}", "-o", "f#<m>") }
        #expect(failure?.status == .badArgument)
    }

    @Test func uploadsMayBePatterns() throws {
        let both = try transfers("http://a.test/[1-2]/", "-T", "{two,a.pem}")
        #expect(
            both.map { (try? $0.url.get().description) ?? "" }
                == ["1/two", "2/two", "1/a.pem", "2/a.pem"].map { "http://a.test/\($0)" }
        )
        #expect(both.map(\.upload) == ["two", "two", "a.pem", "a.pem"])
    }

    @Test func destinationsAreDecidedForEachURL() throws {
        let line = [
            "--remote-name-all", "http://a.test/f", "--no-remote-name", "http://a.test/", "--out-null",
            "http://a.test/d/e/",
        ]
        let parts = try FetchParser.fetches(line, files: FetchPlanTests.files)
        let plan = try FetchPlan(parts[0], defaults: Defaults(), files: FetchPlanTests.files)
        #expect(try plan.transfers().map(\.output) == [.standardOutput(isNamed: false), .nothing, .remoteFile("e")])
        #expect(try transfers("-O", "http://a.test///").map(\.output) == [.remoteFile("curl_response")])
    }

    @Test func aWrongURLFailsOnlyItsOwnTransfer() throws {
        let three = try transfers("http://a.test/", "foo://b.test/", "http://c d/")
        let codes = three.map { transfer -> Int32 in
            do throws(CommandFailure) {
                return try transfer.url.get().origin.scheme == .http ? 0 : -1
            } catch {
                return error.status.rawValue
            }
        }
        #expect(codes == [0, 1, 3])
    }

    static let given: [(disposition: String?, location: String?, name: String?)] = [
        ("attachment; filename=a.txt; x=y", nil, "a.txt"), ("inline; filename=\"a;b.txt\"", nil, "a;b.txt"),
        ("filename=/etc/passwd", nil, "passwd"), ("filename=\"..\\\\..\\\\x.exe\"", nil, "x.exe"),
        ("attachment; filename=.bashrc", nil, "_bashrc"), ("attachment; filename=\"..\"", nil, "_."),
        ("attachment; filename=a\u{7}b", nil, "a_b"), ("attachment; filename=dir/", nil, nil),
        ("attachment", "/x/y?q#f", "y"), (nil, "http://h/last#frag", "last"), (nil, nil, nil),
        // A combining character after the slash, and one that turns the direction of the text.
        ("attachment; filename=a/\u{301}b", nil, "\u{301}b"), ("attachment; filename=a\u{202e}b", nil, "a_b"),
        ("attachment; filename*=UTF-8''x; filename=y", nil, "y"), ("filename=\"a b", nil, "a b"),
    ]

    @Test(arguments: given)
    func aServerNamesAFileInItsFolder(_ row: (disposition: String?, location: String?, name: String?)) {
        #expect(OutputName.given(disposition: row.disposition, location: row.location) == row.name, "\(row)")
    }

    // MARK: Values of options

    @Test(arguments: [
        ("dec 12 12:00:00 1999 GMT", 945_000_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("1994-11-06T08:49:37Z", 784_111_777), ("19941106 08:49:37", 784_111_777), ("06 Nov 1994", 784_080_000),
        ("06 Nov 1994 08:49:37 +0200", 784_104_577), ("06 Nov 1994 08:49:37 PST", 784_140_577),
        ("20040911 +0200", 1_094_853_600), ("1 Jan 2020 -0800", 1_577_865_600),
    ])
    func datesHaveManyForms(_ text: String, _ seconds: Int64) {
        #expect(DateExpression.parse(text) == seconds, "\(text)")
    }

    @Test(arguments: [
        "", "file.txt", "two", "12", "32 Nov 1994x", "06 Foo 1994", "25:00:00 6 Nov 1994", "6 Nov 1994 7 Dec",
    ])
    func otherTextsAreNoDates(_ text: String) { #expect(DateExpression.parse(text) == nil, "\(text)") }

    @Test("digits and letters outside ASCII are skipped, and do not stop the reading", .timeLimit(.minutes(1)))
    func foreignDigitsInDates() {
        for text in ["\u{b2}", "\u{663}", "6\u{301} Nov 1994", "\u{fc}"] { #expect(DateExpression.parse(text) == nil) }
        #expect(DateExpression.parse("06 Nov 1994 \u{b2}") == 784_080_000)
    }

    @Test func sizesHaveUnits() throws {
        for (text, bytes) in [("5", 5), ("1k", 1024), ("2.5M", 2_621_440), ("1G", 1 << 30), ("0", 0)]
            as [(String, Int64)]
        {
            #expect(try ByteCount.parse(text, option: "-x") == bytes)
        }
        for text in ["", "k", "-1", "+1", "1x", "9999999999P", "0x10", "1e3"] {
            #expect(throws: CommandFailure.self, "\(text)") { try ByteCount.parse(text, option: "-x") }
        }
    }

    @Test func ratesHaveUnitsOfTime() throws {
        for (text, time) in [
            ("2/s", .milliseconds(500)), ("5/15s", .seconds(3)), ("1", .seconds(3600)), ("3/4h", .seconds(4800)),
        ] as [(String, Duration)] {
            #expect(try Duration(rate: text) == time)
        }
        for text in ["", "0/s", "1/x", "1/0s", "-1/s", "1/99999999999999999999d"] {
            #expect(throws: CommandFailure.self, "\(text)") { try Duration(rate: text) }
        }
    }
}
