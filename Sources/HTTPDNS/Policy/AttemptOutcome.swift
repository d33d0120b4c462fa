// SPDX-License-Identifier: Apache-2.0

/// The outcome of a connection attempt to an endpoint.
public enum AttemptOutcome: Hashable, Sendable {
    /// The connection was established, after this time.
    case connected(after: Duration)
    /// The attempt failed: refused, unreachable, timed out, or the peer failed verification.
    case failed
}
