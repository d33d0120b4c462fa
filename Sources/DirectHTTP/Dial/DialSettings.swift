// SPDX-License-Identifier: Apache-2.0

public import Names

/// How connections are opened (RFC 8305).
public struct DialSettings: Sendable, Hashable {
    /// The Connection Attempt Delay (RFC 8305 §5): how long to wait for one endpoint before the next is tried in
    /// parallel. Default 250 ms. The RFC recommends 100 ms to 2 s.
    public var stagger = Duration.milliseconds(250)
    /// How long a TLS handshake may take before another endpoint is tried in parallel. Default 2 s.
    package var handshakeStagger = Duration.seconds(2)
    /// The maximum number of endpoints tried in one dial. Default 12.
    public var maxAttempts = 12
    /// The maximum number of endpoints tried at once, at least 1; the oldest attempt ends first. Default nil: all.
    package var maxConcurrentAttempts: Int?
    /// How long a failed endpoint is tried after all others. The time doubles with each further failure, up to 16 times. Default
    /// 30 s; zero: failures are not remembered.
    package var failurePause = Duration.seconds(30)
    /// How many failures are remembered. Beyond that, the failure whose pause ends first is forgotten. Default 1,024.
    package var rememberedFailures = 1_024
    /// The local addresses of connections, at most one per family. Default none: the system chooses. Endpoints of a family that
    /// is not listed fail.
    public var localAddresses: [IPAddress] = []
    /// The network interface of connections, such as `eth0` (SO_BINDTODEVICE on Linux, IP_BOUND_IF on Apple's systems). Default
    /// nil: the system chooses.
    public var interface: String?
    /// The local ports of connections, tried in order until one is free (curl's `--local-port`). Default nil: the system chooses.
    package var localPorts: ClosedRange<UInt16>?
    /// The idle time before TCP keep-alive probes and between them, 1 to 32767 s. Default nil: no probes.
    package var keepAlive: Duration?
    /// How many unanswered probes end the connection, from 1 to 127. Default 9.
    package var keepAliveCount = 9
    /// Whether small segments are sent without waiting for the acknowledgement of earlier ones (TCP_NODELAY). Default true.
    package var sendsAtOnce = true

    /// The defaults.
    public init() {}
}
