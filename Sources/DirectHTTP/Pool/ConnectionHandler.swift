// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The last handler of a connection, for either version of HTTP. All methods are called on its event loop.
protocol ConnectionHandler: AnyObject {
    func start(_ exchange: Exchange, now: NIODeadline)
    func resumeReading(_ exchange: Exchange)
    func abandon(_ exchange: Exchange)
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void)
    func finishSending(_ exchange: Exchange)
    /// Closes the socket now; exchanges in progress fail.
    func closeNow()
    /// Accepts no further exchange, and closes when those in progress have ended.
    func drain()
}

extension ConnectionHandler {
    /// The minimum time that a new connection waits for its first exchange. The task that opened it may run on another thread.
    static var firstRest: TimeAmount { .seconds(10) }
}

/// An event that a connection reports to the pool, on the event loop.
enum ConnectionNotice {
    /// An exchange ended at this time, and the connection can carry another.
    case free(NIODeadline)
    /// From now on the connection can carry this many exchanges at a time.
    case capacity(Int)
    /// The connection finishes its exchanges and accepts no more.
    case draining
    case closed
}
