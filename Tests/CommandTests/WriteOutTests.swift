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
            ("%{http_code}|%header{X-A}", [.variable("http_code"), .text("|"), .header("X-A")]),
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
        let output = try WriteOut(format, files: FetchPlanTests.files).output(record)
        #expect(output.standardOutput == "000 7 refused 0 0.000000 http://a.test/!")
        let json = try WriteOut("%{json}", files: FetchPlanTests.files).output(record).standardOutput
        #expect(try ReportView(json).keys.count == WriteOutVariable.allCases.count - 2)
        #expect(try ReportView(json)["exitcode"].number == 7 && ReportView(json)["content_type"].isNull)
    }

    static func transfer() throws -> Transfer {
        Transfer(
            number: 0,
            url: try HTTPURL("http://a.test/"),
            request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil),
            body: .none,
            output: .standardOutput(isNamed: false)
        )
    }

    // MARK: Retries

    @Test func intervalsDoubleUntilTriesAreUsedUp() {
        var schedule = FetchRetries(retries: 3, delay: nil)
        #expect(schedule.next(after: .timedOut, responseStatus: nil) == .seconds(1))
        #expect(schedule.next(after: .ok, responseStatus: 503) == .seconds(2))
        #expect(schedule.next(after: .ok, responseStatus: 503, retryAfter: .seconds(9)) == .seconds(9))
        #expect(schedule.next(after: .timedOut, responseStatus: nil) == nil)
    }

    @Test func onlyWhatMayPassIsTriedAgain() {
        for status in [CommandStatus.connectFailed, .certificateRejected, .writeFailed, .ok, .usage] {
            var schedule = FetchRetries(retries: 1, delay: .zero)
            #expect(schedule.next(after: status, responseStatus: 404) == nil)
        }
        for code in [408, 429, 500, 502, 503, 504] {
            var schedule = FetchRetries(retries: 1, delay: .milliseconds(5))
            #expect(schedule.next(after: .httpError, responseStatus: code) == .milliseconds(5))
        }
    }

    @Test func nobodyWaitsForHours() {
        var schedule = FetchRetries(retries: 20, delay: nil)
        var longest = Duration.zero
        while let wait = schedule.next(after: .timedOut, responseStatus: nil, retryAfter: .seconds(86_400)) {
            longest = max(longest, wait)
        }
        #expect(longest == FetchRetries.longestWait)
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
        for _ in 0..<20_000 {
            let field = String(
                (0..<Int(random.next() % 24)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
            )
            _ = ResumeDecision(status: random.next() % 2 == 0 ? 206 : 416, contentRange: "bytes " + field, offset: 5)
        }
    }
}
