// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Testing

@testable import BeelineCommand

/// The output of `-w`, and the rules for retries and resumed downloads.
struct WriteOutTests {
    @Test(
        arguments: [
            ("plain", [.text("plain")]),
            ("a%%b", [.text("a%b")]),
            ("a\\nb\\tc\\rd\\e", [.text("a\nb\tc\rd\\e")]),
            ("a\\\\nb\\%{http_code}\\", [.text("a\\\\nb\\%{http_code}\\")]),
            ("%{http_code}|%header{X-A}", [.variable("http_code"), .text("|"), .header("X-A", separator: nil)]),
            ("%header{a:all:-{\\}-\\n}", [.header("a", separator: "-{}-\n")]),
            ("%time{%H}%output{>>f}", [.time("%H"), .output("f", appends: true)]),
            ("%x{a}%{a", [.text("%x{a}%{a")]),
            ("%{unclosed", [.text("%{unclosed")]),
            ("%header", [.text("%header")]),
            ("100%", [.text("100%")]),
            ("", []),
        ] as [(String, [WriteOut.Part])]
    )
    func readsFormats(_ format: String, _ parts: [WriteOut.Part]) throws {
        #expect(try WriteOut(format, files: FetchPlanTests.files).parts == parts)
    }

    @Test func writesNumbersAsCurlDoes() {
        #expect(WriteOutVariable.Value.seconds(.microseconds(1_000_042)).text == "1.000042")
        #expect(WriteOutVariable.Value.code(0).text == "000")
        #expect(WriteOutVariable.Value.code(404).text == "404")
        #expect(WriteOutVariable.Value.absent.text == "")
    }

    @Test func aFailureWithoutAResponseHasValuesToo() throws {
        var record = TransferRecord(try Self.transfer())
        record.failure = CommandFailure(.connectFailed, "refused")
        let format = "%{http_code} %{exitcode} %{errormsg} %{num_redirects} %{time_connect} %{url_effective}%{onerror}!"
        #expect(try text(format, record) == "000 7 refused 0 0.000000 http://a.test/!")
        let json = try text("%{json}", record)
        #expect(try ReportView(json).keys.count == WriteOutVariable.allCases.count + 1)
        #expect(try ReportView(json)["exitcode"].number == 7 && ReportView(json)["content_type"].isNull)
    }

    @Test("as in curl, %{time_total} and %{speed_download} are those of the last try, without the wait before it")
    func timesOfTheLastTry() throws {
        var record = TransferRecord(try Self.transfer(), retries: 1)
        (record.total, record.lastTry, record.received) = (.seconds(100), .seconds(2), 10)
        #expect(try text("%{time_total} %{speed_download} %{num_retries}", record) == "2.000000 5 1")
    }

    @Test("as in curl, %{size_download} and %{speed_download} count the bytes before decoding")
    func sizeOfCompressedBody() throws {
        var record = TransferRecord(try Self.transfer())
        (record.received, record.encoded, record.lastTry) = (100, 10, .seconds(2))
        #expect(try text("%{size_download} %{size_delivered} %{speed_download}", record) == "10 100 5")
    }

    private func text(_ format: String, _ record: TransferRecord) throws -> String {
        try WriteOut(format, files: FetchPlanTests.files).pieces(record).map(\.text).joined()
    }

    @Test func theTextGoesWhereItIsToldTo() throws {
        let format = "a%{stderr}b%output{f}c%{unknown}d%{stdout}e%{onerror}f"
        let pieces = try WriteOut(format, files: FetchPlanTests.files).pieces(TransferRecord(Self.transfer()))
        #expect(pieces.map(\.text) == ["a", "b", "c", "beeline: unknown --write-out variable: 'unknown'\n", "d", "e"])
        #expect(
            pieces.map(\.destination) == [
                .standardOutput, .standardError, .file("f", appends: false), .standardError,
                .file("f", appends: true), .standardOutput,
            ]
        )
    }

    @Test(arguments: [
        ("http://u:p@h:1/a/b?q#f", "http|u|p|h|1|/a/b|q|f|"), ("H.test", "http|||H.test|80|/|||"),
        ("https://[fe80::1%25eth0]/", "https|||[fe80::1]|443|/|||eth0"), ("foo://h", "foo|||h||/|||"),
        ("local host", "||||||||"), ("http://h?a=http://x", "http|||h|80|/|a=http://x||"),
    ])
    func partsOfURLsAreShown(_ url: String, _ parts: String) throws {
        var transfer = try Self.transfer()
        transfer.text = url
        let names = ["scheme", "user", "password", "host", "port", "path", "query", "fragment", "zoneid"]
        let format = names.map { "%{url.\($0)}" }.joined(separator: "|")
        #expect(try text(format, TransferRecord(transfer)) == parts)
    }

    @Test func timesAreInUTC() {
        #expect(
            WriteOutTime.text("%Y-%m-%d %T.%f %z %Z %s%%", seconds: 86_400, microseconds: 42)
                == "1970-01-02 00:00:00.000042 +0000 UTC 86400%"
        )
        #expect(WriteOutTime.text(String(repeating: "x", count: 1000), seconds: 0, microseconds: 0) == "")
    }

    @Test func fieldsAreJSONInTheirOrder() {
        let json = CurlJSON.fields([
            (name: "Date", value: "x"), (name: "A", value: "\"1\"\n"), (name: "date", value: "y\u{1}"),
        ])
        #expect(json == "{\"date\":[\"x\",\"y\\u0001\"],\n\"a\":[\"\\\"1\\\"\\n\"]\n}")
    }

    static func transfer() throws -> Transfer {
        Transfer(
            number: 0,
            text: "http://a.test/",
            url: .success(try HTTPURL("http://a.test/")),
            request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil),
            body: .none,
            output: .standardOutput(isNamed: false)
        )
    }

    // MARK: Retries

    /// Returns the wait after an attempt with these results.
    private func next(
        _ schedule: inout FetchRetries,
        _ status: CommandStatus,
        code responseStatus: Int? = nil,
        retryAfter: Duration? = nil
    ) -> Duration? {
        schedule.next(after: .init(status: status, responseStatus: responseStatus, retryAfter: retryAfter))
    }

    @Test func intervalsDoubleUntilTriesAreUsedUp() {
        var schedule = FetchRetries(.init(retries: 3))
        #expect(next(&schedule, .timedOut) == .seconds(1))
        #expect(next(&schedule, .ok, code: 503) == .seconds(2))
        #expect(next(&schedule, .ok, code: 503, retryAfter: .seconds(9)) == .seconds(9))
        #expect(next(&schedule, .timedOut) == nil)
    }

    @Test func onlyWhatMayPassIsTriedAgain() {
        for status in [CommandStatus.connectFailed, .certificateRejected, .writeFailed, .ok, .usage] {
            var schedule = FetchRetries(.init(retries: 1, delay: .zero))
            #expect(next(&schedule, status, code: 404) == nil)
        }
        for code in [408, 429, 500, 502, 503, 504, 522, 524] {
            var schedule = FetchRetries(.init(retries: 1, delay: .milliseconds(5)))
            #expect(next(&schedule, .httpError, code: code) == .milliseconds(5))
        }
        var all = FetchRetries(.init(retries: 9, includesAllErrors: true))
        #expect(next(&all, .partialBody, code: 200) != nil && next(&all, .ok, code: 404) == nil)
        var refused = FetchRetries.Attempt(status: .connectFailed, isRefused: true)
        var schedule = FetchRetries(.init(retries: 9, includesRefusals: true))
        #expect(schedule.next(after: refused) != nil)
        refused.isRefused = false
        #expect(schedule.next(after: refused) == nil)
    }

    @Test func noRetryStartsAfterTheMaximumTime() {
        var schedule = FetchRetries(.init(retries: 9, maxTime: .seconds(10)))
        #expect(schedule.next(after: .init(status: .timedOut, elapsed: .seconds(9))) != nil)
        #expect(schedule.next(after: .init(status: .timedOut, elapsed: .seconds(10))) == nil)
        let asked = FetchRetries.Attempt(responseStatus: 503, retryAfter: .seconds(5), elapsed: .seconds(6))
        #expect(schedule.next(after: asked) == nil)
    }

    @Test func noWaitTakesHours() {
        var schedule = FetchRetries(.init(retries: 20))
        var longest = Duration.zero
        while let wait = next(&schedule, .timedOut) { longest = max(longest, wait) }
        #expect(longest == FetchRetries.longestWait)
    }

    @Test("Retry-After decides the wait, longer or shorter than the delay, and over an hour ends the retries")
    func waitsAsLongAsTheServerSays() {
        var fixed = FetchRetries(.init(retries: 9, delay: .seconds(60)))
        #expect(next(&fixed, .ok, code: 503, retryAfter: .seconds(1)) == .seconds(1))
        #expect(next(&fixed, .ok, code: 503, retryAfter: .seconds(3600)) == .seconds(3600))
        #expect(next(&fixed, .ok, code: 503, retryAfter: .zero) == .seconds(60))
        #expect(next(&fixed, .ok, code: 503, retryAfter: .seconds(3601)) == nil)
        #expect(next(&fixed, .timedOut, code: 200, retryAfter: .seconds(3601)) == .seconds(60), "not its reason")
        var growing = FetchRetries(.init(retries: 9))
        #expect(next(&growing, .ok, code: 503) == .seconds(1))
        #expect(next(&growing, .ok, code: 503, retryAfter: .seconds(1)) == .seconds(1))
        #expect(next(&growing, .ok, code: 503) == .seconds(2))
    }

    // MARK: Resumed downloads

    static let resumes: [(status: Int, range: String?, decision: String)] = [
        (206, "bytes 100-199/200", "append"), (206, "bytes 100-199/*", "append"), (206, "BYTES 100-199/200", "append"),
        (206, "bytes 99-199/200", "33"), (206, nil, "33"), (206, "lines 100-199/200", "33"),
        (200, nil, "restart"), (203, nil, "restart"),
        (416, nil, "complete"), (416, "bytes */100", "complete"), (416, "bytes */*", "complete"),
        (416, "bytes */99", "33"), (416, "bytes */101", "33"),
        (404, nil, "22"), (500, nil, "22"), (304, nil, "22"),
    ]

    @Test(arguments: resumes)
    func decidesHowToGoOn(_ row: (status: Int, range: String?, decision: String)) {
        let decision = ResumeDecision(status: row.status, contentRange: row.range, offset: 100)
        let text =
            switch decision {
            case .append: "append"
            case .restart: "restart"
            case .complete: "complete"
            case .mismatch: "33"
            case .refused: "22"
            }
        #expect(text == row.decision, "\(row)")
    }

    @Test func survivesAnyContentRange() {
        var random = SeededRandom(seed: 2)
        let alphabet = Array("bytes 0123456789-/*\u{0}")
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            let field = String(
                (0..<Int(random.next() % 24)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
            )
            _ = ResumeDecision(status: random.next() % 2 == 0 ? 206 : 416, contentRange: "bytes " + field, offset: 5)
        }
    }
}
