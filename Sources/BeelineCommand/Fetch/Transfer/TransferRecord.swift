// SPDX-License-Identifier: Apache-2.0

import Beeline
import NIOCore

/// The result of a transfer, for the exit code, `-w`, `-v` and `--report`.
struct TransferRecord: Sendable {
    let transfer: Transfer
    /// The hops that returned a response.
    var hops: [Hop] = []
    /// The response heads, informational ones included, each field on one line; empty if neither `-i` nor `-D` prints them.
    var heads: [ByteBuffer] = []
    /// Whether the last head is incomplete or malformed. ``heads`` then ends with its readable lines.
    var isHeadBroken = false
    /// The size of all response heads.
    var headBytes = 0
    /// The reason for a failed transfer; nil if it succeeded.
    var failure: CommandFailure?
    /// The client's error; nil without one.
    var error: BeelineError?
    /// The path of the output file; nil for other outputs.
    var path: String?
    /// Whether the file exists and `--skip-existing` kept it.
    var isSkipped = false
    /// Whether the file of `-C` was already complete.
    var isComplete = false
    /// Whether the response does not meet the condition of `-z`.
    var isUnmodified = false
    /// The number of body bytes written, after decoding.
    var received: Int64 = 0
    /// The number of body bytes received, before decoding; nil for a body that is not decoded.
    var encoded: Int64?
    /// The number of request body bytes sent.
    var sent: Int64 = 0
    /// The time from the head to the last byte of the body; nil if the body is incomplete.
    var bodyTime: Duration?
    /// The number of retries.
    var retries = 0
    /// Whether certificate verification was off (`-k`).
    var isUnverified = false
    /// The time from the start to the last byte, including retries.
    var total = Duration.zero
    /// The time of the last try, for `-w`, whose other times are those of this try too.
    var lastTry = Duration.zero

    init(_ transfer: Transfer, retries: Int = 0) {
        self.transfer = transfer
        self.retries = retries
    }

    var status: CommandStatus { failure?.status ?? .ok }

    /// The hop of the final response.
    var lastHop: Hop? { hops.last }

    /// The URL of the last request; without one, the requested URL.
    var effectiveURL: String {
        guard let last = error?.failedURL ?? hops.last?.url else { return transfer.shownURL }
        let text = "\(last)"
        // As in curl, an international host stays as written.
        guard let given = try? transfer.url.get(), given.host == last.host, let host = URLParts(transfer.text)["host"],
            !host.utf8.allSatisfy({ $0 < 0x80 }), let place = text.firstRange(of: last.host.text)
        else { return text }
        return text[..<place.lowerBound] + host + text[place.upperBound...]
    }

    /// The end of each phase of the last hop, measured from the start of the transfer; nil without a hop.
    var phases: Phases? {
        guard let hop = hops.last else { return nil }
        let last = hop.timings
        let before = hops.dropLast().reduce(Duration.zero) { $0 + $1.timings.total }
        let resolved = before + (last.resolve ?? .zero)
        let connected = resolved + (last.connect ?? .zero)
        let ready = connected + (last.handshake ?? .zero)
        return Phases(
            redirects: before,
            resolved: resolved,
            connected: connected,
            secured: hop.tlsTime == nil ? nil : ready,
            ready: ready,
            firstByte: ready + last.firstByte
        )
    }

    struct Phases: Hashable, Sendable {
        var redirects: Duration
        var resolved: Duration
        var connected: Duration
        /// Nil without TLS.
        var secured: Duration?
        var ready: Duration
        var firstByte: Duration
    }
}
