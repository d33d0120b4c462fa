// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Carries an exchange: an HTTP/1.1 connection or an HTTP/2 stream. All methods may be called from any thread.
protocol ExchangeCarrier: Sendable {
    /// Whether the caller runs on the event loop of the connection.
    var isCallerOnLoop: Bool { get }
    /// Sends the request. `now` is the current time.
    func start(_ exchange: Exchange, now: NIODeadline)
    /// Resumes reading after the caller has taken buffered pieces.
    func resumeReading(_ exchange: Exchange)
    /// Frees the resources of an exchange that the caller has ended.
    func abandon(_ exchange: Exchange)
    /// Sends a piece of the request's body. `done` is always called: with true when the next piece can be sent, with false if the
    /// exchange has ended or the body is complete.
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void)
    /// Marks the request's body as complete.
    func finishSending(_ exchange: Exchange)
}
