// SPDX-License-Identifier: Apache-2.0

/// How connections are opened (RFC 8305).
public struct DialSettings: Sendable, Hashable {
    /// The Connection Attempt Delay (RFC 8305 §5): how long one endpoint may be silent before the next is tried beside it.
    /// Default 250 ms.
    public var stagger = Duration.milliseconds(250)
    /// How long a TLS handshake may take before another endpoint is tried beside it. Default 2 s.
    public var handshakePatience = Duration.seconds(2)
    /// How many endpoints one dial tries at the most. Default 12.
    public var maximumAttempts = 12

    /// The defaults.
    public init() {}
}
