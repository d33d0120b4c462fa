// SPDX-License-Identifier: Apache-2.0

import Beeline

/// How a transfer went: what the exit code, `-w`, `-v` and `--report` tell of it.
struct TransferRecord: Sendable {
    let transfer: Transfer
    /// The hops that brought a response.
    var hops: [Hop] = []
    /// Why it failed; nil where it did not.
    var failure: CommandFailure?
    /// What the client said where a request brought no response.
    var error: BeelineError?
    /// Bytes of the body that were written, decoded.
    var received: Int64 = 0
    /// Bytes of the request's body that were sent.
    var sent: Int64 = 0
    /// From the head to the body's last byte; nil where it did not come to its end.
    var bodyTime: Duration?
    /// How often it was tried again.
    var retries = 0
    /// Whether no certificate was checked (`-k`).
    var isUnverified = false
    /// From the start to the last byte, retries included.
    var total = Duration.zero

    init(_ transfer: Transfer, retries: Int = 0) {
        self.transfer = transfer
        self.retries = retries
    }

    var status: CommandStatus { failure?.status ?? .ok }

    /// The hop that brought the response.
    var lastHop: Hop? { hops.last }

    /// The URL that answered, or was asked first.
    var url: HTTPURL { hops.last?.url ?? transfer.url }

    /// When each phase of the last hop ended, counted from the start of the transfer; nil where it did not come to it.
    var phases: Phases? {
        guard let last = hops.last?.timings else { return nil }
        let before = hops.dropLast().reduce(Duration.zero) { $0 + $1.timings.total }
        let resolved = before + (last.resolve ?? .zero)
        let connected = resolved + (last.connect ?? .zero)
        let secured = connected + (last.handshake ?? .zero)
        return Phases(
            redirects: before,
            resolved: resolved,
            connected: connected,
            secured: last.handshake == nil ? nil : secured,
            ready: secured,
            firstByte: secured + last.firstByte
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
