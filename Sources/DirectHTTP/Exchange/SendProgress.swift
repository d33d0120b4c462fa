// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Tracks how much of what a connection wrote has reached the peer. On a slow line, the kernel's send buffer takes megabytes at
/// once and sends them for a minute. During that time the peer is silent, but the connection is alive.
///
/// With TLS, the queues hold slightly more bytes than were written. Progress then looks slightly smaller than it is.
struct SendProgress {
    /// The bytes in the queues of a channel; nil if unknown. Tests replace it.
    private let queued: (any Channel) -> Int?
    private(set) var written: Int64 = 0
    /// The bytes known to have reached the peer.
    private(set) var delivered: Int64 = 0
    /// When ``update(from:now:)`` last found that more bytes had reached the peer; nil: never.
    private(set) var lastMove: NIODeadline?

    init(queued: @escaping (any Channel) -> Int? = { $0.unacknowledgedBytes }) {
        self.queued = queued
    }

    private var wasBehind = false

    /// Whether bytes had not reached the peer at the last look.
    var isBehind: Bool { delivered < written }

    mutating func wrote(_ bytes: Int) { written &+= Int64(bytes) }

    /// More undelivered bytes than this may still be in the kernel, for example those of a cancelled upload.
    private static let certain = 64 * 1024

    /// Records that the peer has received all bytes of earlier requests, so that these bytes are not mistaken for
    /// progress later. After a large upload, which may have been cancelled, it checks the queues.
    mutating func markDelivered(on channel: any Channel) {
        var waiting = 0
        if written - delivered > Self.certain { waiting = queued(channel) ?? 0 }
        delivered = max(delivered, written - Int64(waiting))
        wasBehind = waiting > 0
    }

    /// Checks the queues. This needs a system call, so it is done only when a time limit is reached.
    mutating func update(from channel: any Channel, now: NIODeadline) {
        guard let waiting = queued(channel) else { return }
        let count = written - Int64(waiting)
        wasBehind = waiting > 0
        guard count > delivered else { return }
        delivered = count
        lastMove = now
    }

    /// The progress after a check of the queues.
    mutating func updated(from channel: any Channel, now: NIODeadline) -> SendProgress {
        update(from: channel, now: now)
        return self
    }

    /// The time of the last progress within `limit`, if bytes up to `mark` had not reached the peer at this check or at
    /// the previous one; nil otherwise. The peer has one more limit to answer after the last of these bytes.
    ///
    /// - Parameter mark: a value of ``written``.
    mutating func move(
        before mark: Int64,
        within limit: TimeAmount,
        on channel: any Channel,
        now: NIODeadline
    ) -> NIODeadline? {
        let isLastPart = wasBehind && delivered < mark
        update(from: channel, now: now)
        guard delivered < mark || isLastPart, let lastMove, now - lastMove < limit else { return nil }
        return lastMove
    }
}
