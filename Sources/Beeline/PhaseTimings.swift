// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// The duration of each phase of the last hop, in nanoseconds. A phase that a reused connection skips is `nil`.
public struct PhaseTimings: Hashable, Sendable, Codable {
    /// Name resolution.
    public var resolve: Int64?
    /// TCP, from the start of the connection attempts.
    public var connect: Int64?
    /// TLS, and a proxy's CONNECT.
    public var tls: Int64?
    /// From sending the request to the first byte of the response.
    public var firstByte: Int64
    /// From the head to the last byte of the body; `nil` until the body has ended.
    public var body: Int64?

    init(_ timings: ExchangeTimings, body: Duration?) {
        resolve = timings.resolve?.nanoseconds
        connect = timings.connect?.nanoseconds
        tls = timings.handshake?.nanoseconds
        firstByte = timings.firstByte.nanoseconds
        self.body = body?.nanoseconds
    }
}

extension Duration {
    /// The duration in whole nanoseconds.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}
