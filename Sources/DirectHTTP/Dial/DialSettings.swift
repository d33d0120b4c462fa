// SPDX-License-Identifier: Apache-2.0

public import Names

/// How connections are opened (RFC 8305).
public struct DialSettings: Sendable, Hashable {
    /// The Connection Attempt Delay (RFC 8305 §5): how long one endpoint may be silent before the next is tried beside it.
    /// Default 250 ms.
    public var stagger = Duration.milliseconds(250)
    /// How long a TLS handshake may take before another endpoint is tried beside it. Default 2 s.
    public var handshakePatience = Duration.seconds(2)
    /// How many endpoints one dial tries at the most. Default 12.
    public var maximumAttempts = 12
    /// How long an endpoint that failed is tried after all others. It doubles with each failure in a row, up to 16 times as
    /// long. Default 30 s; zero: no failure is remembered.
    public var failurePause = Duration.seconds(30)
    /// How many failures are remembered; beyond that the one that is over first is forgotten. Default 1,024.
    public var rememberedFailures = 1_024
    /// The addresses that connections come from, at most one of a family. Default none: the system chooses. An endpoint of a
    /// family that is not among them fails.
    public var localAddresses: [IPAddress] = []
    /// The network interface that connections use, such as `eth0` (SO_BINDTODEVICE on Linux, IP_BOUND_IF on Apple's systems).
    /// Default nil: the system chooses.
    public var interface: String?

    /// The defaults.
    public init() {}
}
