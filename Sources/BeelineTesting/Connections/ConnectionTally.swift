// SPDX-License-Identifier: Apache-2.0

/// Counts of a server's connections.
package struct ConnectionTally: Hashable, Sendable {
    /// The number accepted since the start, including those whose handshake failed.
    package internal(set) var accepted = 0
    /// The number open now.
    package internal(set) var open = 0
    /// The number of failed TLS handshakes. A client may check the certificate's name after its last handshake message and then
    /// close; such a connection is not counted here.
    package internal(set) var failedHandshakes = 0
    /// The error of the last failed handshake, as BoringSSL words it.
    package internal(set) var lastHandshakeFailure: String?
}
