// SPDX-License-Identifier: Apache-2.0

/// A version of HTTP/1 in which a request is written.
package enum HTTP1Version: Hashable, Sendable {
    /// HTTP/1.0 (RFC 1945): for servers that fail at 1.1.
    case http10
    /// HTTP/1.1 (RFC 9112).
    case http11
}
