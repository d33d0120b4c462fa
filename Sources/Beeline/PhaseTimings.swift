// SPDX-License-Identifier: Apache-2.0

import DirectHTTP

/// How long each phase of a response's last hop took, in nanoseconds. A phase that a kept connection spared is nil.
public struct PhaseTimings: Hashable, Sendable, Codable {
    /// Naming the endpoints.
    public var resolve: Int64?
    /// TCP, from the start of the race.
    public var connect: Int64?
    /// TLS, and a proxy's CONNECT.
    public var tls: Int64?
    /// From sending the request to the first byte of the response.
    public var firstByte: Int64
    /// From the head to the body's last byte; nil before that came.
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
    /// In whole nanoseconds.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }
}
