// SPDX-License-Identifier: Apache-2.0

public import Names

/// One connection attempt to one endpoint, with its outcome. Resolvers use attempts to rank endpoints.
public struct Attempt: Sendable, Hashable, CustomStringConvertible {
    /// How an attempt ended.
    public enum Outcome: Sendable, Hashable {
        /// The connection was established and used.
        case connected
        /// The endpoint refused, did not answer or showed a wrong certificate. Has the error code and a one-line reason.
        case failed(DirectHTTPError.Code, String)
        /// Another endpoint was faster, or the caller cancelled.
        case abandoned
    }

    /// The endpoint that the socket connected to.
    public var endpoint: Endpoint
    /// The path of the Unix domain socket, which has no address; nil for other endpoints.
    package var socketPath: String?
    /// How the attempt ended.
    public var outcome: Outcome
    /// When the attempt began, counted from the start of the dial.
    public var start: Duration
    /// How long the TCP connection took; nil if it was not established.
    public var connect: Duration?
    /// How long TLS and the steps of a proxy (CONNECT, SOCKS) took; nil if there was none, or if they were not completed.
    public var handshake: Duration?
    /// Whether the endpoint was silent for a whole stagger, until an attempt that began later connected. This happens
    /// if packets to the address are dropped.
    package private(set) var wasSilent = false

    /// Whether the attempt counts against its endpoint.
    package var isFailure: Bool { if case .failed = outcome { true } else { wasSilent } }

    /// Creates an attempt from its parts, for tests and for code that dials by other means.
    package init(
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

    /// Records that another attempt of the dial connected.
    mutating func lose(to winner: Attempt, stagger: Duration) {
        wasSilent = outcome == .abandoned && connect == nil && winner.start >= start + stagger
    }

    /// The endpoint and the outcome in one line, for errors.
    public var description: String {
        let place = socketPath.map { "the socket \($0)" } ?? "\(endpoint)"
        return switch outcome {
        case .connected: "\(place) connected"
        case .failed(_, let why): "\(place) \(why)"
        case .abandoned: "\(place) abandoned"
        }
    }
}
