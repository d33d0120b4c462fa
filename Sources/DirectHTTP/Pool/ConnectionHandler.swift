// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// What a connection's last handler does, whichever version of HTTP it speaks. Everything is called on its event loop.
protocol ConnectionHandler: AnyObject {
    func start(_ exchange: Exchange, now: NIODeadline)
    func resumeReading(_ exchange: Exchange)
    func abandon(_ exchange: Exchange)
    func send(_ piece: ByteBuffer, of exchange: Exchange, done: @escaping @Sendable (Bool) -> Void)
    func finishSending(_ exchange: Exchange)
    /// Closes the socket now; what it carries fails.
    func closeNow()
    /// Takes no further exchange, and closes when those under way are over.
    func drain()
}

/// What a connection tells its owner, on the event loop.
enum ConnectionNotice {
    /// An exchange is over at this time, and the connection can serve another in its place.
    case free(NIODeadline)
    /// The connection can serve this many exchanges at a time from now on.
    case capacity(Int)
    /// The connection serves what it carries and nothing more.
    case draining
    /// The connection is gone.
    case closed
}
