// SPDX-License-Identifier: Apache-2.0

/// How many connections a server has had.
public struct ConnectionTally: Hashable, Sendable {
    /// Accepted since the start, those included whose handshake failed.
    public internal(set) var accepted = 0
    /// Open now.
    public internal(set) var open = 0
    /// The most that were open at once.
    public internal(set) var mostOpen = 0
    /// TLS handshakes that failed, because the client refused the certificate or for any other reason. A client that
    /// checks the certificate's name only after its last handshake message counts as one that closed, not here.
    public internal(set) var failedHandshakes = 0
    /// What the last failed handshake failed of, as BoringSSL words it.
    public internal(set) var lastHandshakeFailure: String?
}
