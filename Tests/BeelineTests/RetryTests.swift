// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Testing

@testable import Beeline

@Suite("Retries", .timeLimit(.minutes(1)))
struct RetryTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = HTTPRequest.Method.get
        var outcome: Outcome
        var replayable = true
        var left: Duration?
        let verdict: RetrySchedule.Verdict

        enum Outcome: Sendable {
            case status(Int, after: Duration? = nil)
            case error(DirectHTTPError.Code, afterOtherHops: Bool = false)
        }

        init(
            _ description: String,
            method: HTTPRequest.Method = .get,
            _ outcome: Outcome,
            replayable: Bool = true,
            left: Duration? = nil,
            verdict: RetrySchedule.Verdict
        ) {
            testDescription = description
            self.method = method
            self.outcome = outcome
            self.replayable = replayable
            self.left = left
            self.verdict = verdict
        }
    }

    static let rows: [Row] = [
        Row("a 200 is final", .status(200), verdict: .end(.settled)),
        Row("a 404 is not repeated", .status(404), verdict: .end(.settled)),
        Row("a 500 may come after the server has acted", .status(500), verdict: .end(.settled)),
        Row("a 503 is temporary", .status(503), verdict: .wait(.milliseconds(200))),
        Row("Retry-After sets the wait", .status(503, after: .seconds(7)), verdict: .wait(.seconds(7))),
        Row(
            "a shorter Retry-After does not shorten the wait",
            .status(503, after: .zero),
            verdict: .wait(.milliseconds(200))
        ),
        Row("a Retry-After above the limit", .status(429, after: .seconds(61)), verdict: .end(.serverAsksForLonger)),
        Row("a POST with 503 is not repeated", method: .post, .status(503), verdict: .end(.methodCounts)),
        Row("PUT may be repeated", method: .put, .status(503), verdict: .wait(.milliseconds(200))),
        Row("a lost connection", .error(.connectionLost), verdict: .wait(.milliseconds(200))),
        Row("POST on a lost connection", method: .post, .error(.connectionLost), verdict: .end(.methodCounts)),
        Row("a stream of HTTP/2 that was reset", .error(.streamReset), verdict: .wait(.milliseconds(200))),
        Row("a POST on a stream that was reset", method: .post, .error(.streamReset), verdict: .end(.methodCounts)),
        Row("a POST that was never sent", method: .post, .error(.connectFailed), verdict: .wait(.milliseconds(200))),
        Row(
            "a body that never left",
            method: .post,
            .error(.connectTimeout),
            replayable: false,
            verdict: .wait(.milliseconds(200))
        ),
        Row(
            "a body that cannot repeat",
            method: .put,
            .error(.connectionLost),
            replayable: false,
            verdict: .end(.bodyIsGone)
        ),
        Row("a rejected certificate is not retried", .error(.certificateRejected), verdict: .end(.settled)),
        Row("a passed deadline is final", .error(.deadlineExceeded), verdict: .end(.settled)),
        Row(
            "a wait does not end after the deadline",
            .status(503),
            left: .milliseconds(200),
            verdict: .end(.noTimeLeft)
        ),
        Row("a wait within the deadline", .status(503), left: .milliseconds(201), verdict: .wait(.milliseconds(200))),
        Row("nor does Retry-After", .status(503, after: .seconds(7)), left: .seconds(7), verdict: .end(.noTimeLeft)),
    ]

    @Test("the method, the outcome and the time left decide whether a request is retried", arguments: rows)
    func verdict(_ row: Row) {
        var schedule = RetrySchedule(.standard, method: row.method, isBodyReplayable: row.replayable)
        let outcome: RetrySchedule.Outcome =
            switch row.outcome {
            case .status(let status, let after): .answered(status: status, retryAfter: after)
            case .error(let code, let after): .failed(code, afterOtherHops: after)
            }
        #expect(schedule.next(after: outcome, timeLeft: row.left, chance: 0) == row.verdict)
    }

    @Test("waits grow up to the longest, attempts are limited, and jitter shortens a wait by its share at most")
    func backoff() {
        var policy = RetryPolicy()
        policy.tries = 5
        policy.backoff.longest = .milliseconds(700)
        var schedule = RetrySchedule(policy, method: .get, isBodyReplayable: true)
        var waits: [RetrySchedule.Verdict] = []
        for _ in 0..<5 {
            waits.append(schedule.next(after: .answered(status: 503, retryAfter: nil), timeLeft: nil, chance: 0))
        }
        let expected = [200, 400, 700, 700].map { RetrySchedule.Verdict.wait(.milliseconds($0)) }
        #expect(waits == expected + [.end(.triesUsedUp)])
        #expect(schedule.tries == 5)
        var seen: Set<Duration> = []
        for _ in 0..<200 {
            let wait = Backoff().wait(after: 1, chance: .random(in: 0..<1))
            #expect(wait >= .milliseconds(100) && wait <= .milliseconds(200))
            seen.insert(wait)
        }
        #expect(seen.count > 100)
        var endless = Backoff()
        endless.factor = .infinity
        #expect(endless.wait(after: 1_000_000, chance: 0) <= .seconds(20))
    }

    static let dates: [(String, Int64?)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("06 Nov 1994 08:49:37 GMT", nil),
        ("Sun, 32 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Foo 1994 08:49:37 GMT", nil), ("", nil), ("tomorrow", nil),
    ]

    @Test("the three date formats are parsed, and invalid dates are rejected (RFC 9110 §5.6.7)", arguments: dates)
    func readsDates(_ row: (String, Int64?)) {
        #expect(HTTPDate.parse(row.0) == row.1, "\(row.0)")
    }

    @Test("Retry-After is in seconds, or a date relative to the server's Date")
    func retryAfter() {
        let now: Int64 = 784_111_777
        #expect(RetryAfter.wait([.retryAfter: "120"], now: now) == .seconds(120))
        #expect(RetryAfter.wait([.retryAfter: "Sun, 06 Nov 1994 08:49:47 GMT"], now: now) == .seconds(10))
        #expect(RetryAfter.wait([.retryAfter: "Sun, 06 Nov 1994 08:49:27 GMT"], now: now) == .zero)
        let skewed: HTTPFields = [
            .retryAfter: "Sun, 06 Nov 1994 08:49:47 GMT", .date: "Sun, 06 Nov 1994 08:49:42 GMT",
        ]
        #expect(RetryAfter.wait(skewed, now: 0) == .seconds(5))
        #expect(RetryAfter.wait([.retryAfter: "99999999999999999999"], now: now) == .seconds(3_155_760_000))
        for wrong in ["-1", "1.5", "soon", ""] {
            #expect(RetryAfter.wait([.retryAfter: wrong], now: now) == nil, "\(wrong)")
        }
        #expect(RetryAfter.wait([:], now: now) == nil)
    }

    @Test("a retry waits for the time in Retry-After on the client's clock")
    func overSockets() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.retry = .standard }) { _ in
            .text("not yet", status: .serviceUnavailable).adding(.retryAfter, "7")
        }
        async let response = lab.client.get(lab.url("a.test"))
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextDeadline == ManualClock.Instant.start.advanced(by: .seconds(7)))
        clock.advance(by: .seconds(7))
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(7))
        let last = try await response
        #expect(last.status == .serviceUnavailable && last.tries == 3)
        #expect(try await last.text() == "not yet", "the last try's response is the result")
        #expect(lab.site.requests.count == 3)
        await lab.stop()
    }

    @Test("a request turns off the retries of the configuration")
    func off() async throws {
        let lab = try await ClientLab(configure: { $0.retry = .standard }) { _ in
            .text("not yet", status: .serviceUnavailable)
        }
        var options = RequestOptions()
        options.retry = .off
        let response = try await lab.client.get(lab.url("a.test"), options: options)
        #expect(response.status == .serviceUnavailable && response.tries == 1)
        #expect(lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("the response is returned at once if no time is left for another attempt")
    func deadline() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.retry = .standard }) { _ in
            .text("not yet", status: .serviceUnavailable).adding(.retryAfter, "30")
        }
        var options = RequestOptions()
        options.limits = TimeLimits()
        options.limits?.total = .seconds(30)
        let response = try await lab.client.get(lab.url("a.test"), options: options)
        #expect(response.status == .serviceUnavailable && response.tries == 1)
        #expect(clock.sleeperCount == 0 && lab.site.requests.count == 1)
        await lab.stop()
    }

    @Test("a body is sent again with each attempt, and a body that can be read only once is an error")
    func bodies() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.retry = .standard }) { request in
            request.path == "/lost" ? .raw(ending: .hangUp) : .text(request.text, status: .badGateway)
        }
        async let response = lab.client.put(lab.url("a.test"), body: .bytes("abc".utf8))
        for _ in 0..<2 {
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(60))
            try await clock.sleepers { $0 == 0 }
        }
        #expect(try await response.text() == "abc")
        #expect(lab.site.requests.map(\.text) == ["abc", "abc", "abc"])
        let once = RequestBody.once(length: 3, AsyncBytes(Array("abc".utf8)))
        let error = await #expect(throws: BeelineError.self) {
            _ = try await lab.client.put(lab.url("a.test", "/lost"), body: once)
        }
        #expect(error?.code == .connectionLost)
        #expect(error?.message.contains("can be read only once") == true)
        await lab.stop()
    }

    @Test("a POST is not repeated if it was answered by a redirect to a host whose proxy cannot be used")
    func redirectToUnusableProxy() async throws {
        let done = try HTTPURL("https://b.test/done")
        let site = try await LoopbackOrigin.start { _ in .redirect(to: "\(done)", status: .seeOther) }
        let client = try plainClient {
            $0.retry = .standard
            $0.retry.backoff.first = .zero
            $0.proxies = ProxySettings(environment: ["https_proxy": "socks4://127.0.0.1:1"])
        }
        let error = await #expect(throws: BeelineError.self) {
            _ = try await client.post(site.url("/order"), body: .bytes("one".utf8))
        }
        #expect(error?.code == .proxyUnresolved && error?.tries == 1)
        #expect(error?.hops.map(\.response.status) == [.seeOther])
        #expect(error?.failedURL == done)
        #expect(site.requests.map(\.method) == [.post])
        await client.shutDown()
        await site.stop()
    }

    @Test("cancellation ends the wait between two attempts")
    func cancelled() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.retry = .standard }) { _ in
            .text("not yet", status: .serviceUnavailable)
        }
        let task = Task { try await lab.client.get(lab.url("a.test")) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        let error = await #expect(throws: BeelineError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        await lab.stop()
    }

    @Test("a shutdown ends the wait between two attempts")
    func shutDownWhileWaiting() async throws {
        let clock = ManualClock()
        let lab = try await ClientLab(clock: clock, configure: { $0.retry = .standard }) { _ in
            .text("not yet", status: .serviceUnavailable).adding(.retryAfter, "60")
        }
        let task = Task { try await lab.client.get(lab.url("a.test")) }
        try await clock.sleepers(atLeast: 1)
        await lab.client.shutDown()
        let error = await #expect(throws: BeelineError.self) { try await task.value }
        #expect(error?.code == .shutDown)
        #expect(lab.site.requests.count == 1)
        await lab.stop()
    }
}
