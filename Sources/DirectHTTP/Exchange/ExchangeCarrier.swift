// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What carries an exchange: a connection (HTTP/1.1) or a stream of one (HTTP/2). Each call may come from any thread.
protocol ExchangeCarrier: Sendable {
    /// Whether the caller runs on the event loop of the connection.
    var isCallerOnLoop: Bool { get }
    /// Sends the request; `now` is the time.
    func start(_ exchange: Exchange, now: NIODeadline)
    /// Reads on, after the caller took what had piled up.
    func resumeReading(_ exchange: Exchange)
    /// Frees whatever the exchange holds: nobody waits for it any more.
    func abandon(_ exchange: Exchange)
    /// Sends a piece of the request's body; `done` is always called: when the next one is welcome, or with false where the
    /// exchange is over or its body whole.
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void)
    /// The request's body is whole.
    func finishSending(_ exchange: Exchange)
}
