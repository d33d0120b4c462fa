// SPDX-License-Identifier: Apache-2.0

/// The reason why the proxy refuses a request: an HTTP status and a one-line message for the client.
public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status (RFC 9110 §15): 400 malformed request, 403 forbidden by the policy, 407 credentials required, 408 request
    /// too slow, 502 unknown or unreachable host, 503 overload or shutdown, 504 timeout.
    public var status: Int
    /// One line with the reason and a remedy.
    public var message: String

    package init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The message.
    public var description: String { message }

    static func malformed(_ what: String) -> Refusal { Refusal(400, "this is not a valid proxy request: \(what)") }
    static func badOrigin(_ what: String) -> Refusal { Refusal(502, "the server's response is not HTTP: \(what)") }
    static let unknownProtocol: Refusal = .malformed("this port speaks HTTP and SOCKS5, without TLS")
    static let timedOut = Refusal(408, "the request did not arrive in time")
    static let ended = Refusal(503, "the proxy is shutting down")
    static let unauthenticated = Refusal(407, "the proxy requires user and password")
}
