// SPDX-License-Identifier: Apache-2.0

import HTTPDNS

/// The counters of a ``DNSServer``.
struct DNSCounters: Sendable {
    /// Questions by transport and response code. 24 response codes are in use.
    private var questions: [DNSService.Transport: [UInt8: Int]] = [:]
    /// Questions that were answered with an encoded reply.
    private(set) var memos = 0
    var limited = 0
    /// Replies over UDP that the socket could not take.
    var dropped = 0
    var connectionsRefused = 0

    mutating func add(_ transport: DNSService.Transport, _ code: DNSResponseCode, isMemo: Bool) {
        questions[transport, default: [:]][code.rawValue, default: 0] += 1
        if isMemo { memos += 1 }
    }

    /// The number of questions with a response code.
    func count(_ code: DNSResponseCode? = nil) -> Int {
        questions.values.joined().reduce(0) { code == nil || $1.key == code?.rawValue ? $0 + $1.value : $0 }
    }
}
