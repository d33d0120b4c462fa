// SPDX-License-Identifier: Apache-2.0

/// Why the proxy does not do what it was asked, as its client is told: a status, and one line.
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status of the answer (RFC 9110 §15): 400 what was sent is no request, 403 the policy forbids it, 407 credentials
    /// are wanted, 502 unknown or unreachable, 503 too much at once, 504 too slow.
    public var status: Int
    /// One line that says why, and what to try.
    public var message: String

    /// A refusal of parts.
    public init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The line.
    public var description: String { message }

    static func malformed(_ what: String) -> Refusal { Refusal(400, "this is no request for a proxy: \(what)") }
    static func badOrigin(_ what: String) -> Refusal { Refusal(502, "what the server sent is not HTTP: \(what)") }
    static let timedOut = Refusal(408, "the request did not come in time")
    static let ended = Refusal(503, "the proxy is ending")
    static let unauthenticated = Refusal(407, "the proxy wants user and password")
}
