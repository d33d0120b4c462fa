// SPDX-License-Identifier: Apache-2.0

public import Names

/// One try at one endpoint, and how it ended. Attempts are what a resolver learns from.
public struct Attempt: Sendable, Hashable, CustomStringConvertible {
    /// How an attempt ended.
    public enum Outcome: Sendable, Hashable {
        /// The connection stands and was used.
        case connected
        /// The endpoint refused, was silent or showed a wrong certificate; the code and one line why.
        case failed(DirectHTTPError.Code, String)
        /// Another endpoint was faster, or the caller left.
        case abandoned
    }

    /// Where the socket went.
    public var endpoint: Endpoint
    /// How it ended.
    public var outcome: Outcome
    /// When it began, counted from the start of the dial.
    public var start: Duration
    /// How long TCP took; nil if it never stood.
    public var connect: Duration?
    /// How long TLS (and a proxy's CONNECT) took; nil if it did not come to that.
    public var handshake: Duration?

    /// An attempt of parts, for tests and for those who dial by other means.
    public init(
        endpoint: Endpoint,
        outcome: Outcome,
        start: Duration = .zero,
        connect: Duration? = nil,
        handshake: Duration? = nil
    ) {
        self.endpoint = endpoint
        self.outcome = outcome
        self.start = start
        self.connect = connect
        self.handshake = handshake
    }

    /// The endpoint and its end, for one line of an error.
    public var description: String {
        switch outcome {
        case .connected: "\(endpoint) connected"
        case .failed(_, let why): "\(endpoint) \(why)"
        case .abandoned: "\(endpoint) abandoned"
        }
    }
}
