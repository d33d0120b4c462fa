// SPDX-License-Identifier: Apache-2.0

/// A URL that HTTP or WebSocket serves: scheme, host, port, path and query, all in the form that goes on the wire.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// Scheme, host and port.
    public let origin: Origin
    /// The percent-encoded path; at least `/`.
    public let path: String
    /// The percent-encoded query without `?`; nil where the URL has none.
    public let query: String?
    /// The percent-encoded fragment without `#`; nil where the URL has none. It is never sent.
    public let fragment: String?
    /// The percent-decoded user of `user:password@`; nil where the URL has none.
    public let user: String?
    /// The percent-decoded password of `user:password@`; nil where the URL has none.
    public let password: String?

    /// A URL of parts. `path` and `query` must be percent-encoded already.
    init(
        origin: Origin,
        path: String = "/",
        query: String? = nil,
        fragment: String? = nil,
        user: String? = nil,
        password: String? = nil
    ) {
        self.origin = origin
        self.path = path
        self.query = query
        self.fragment = fragment
        self.user = user
        self.password = password
    }

    /// The host.
    public var host: Host { origin.host }

    /// Path and query as the request line and `:path` carry them.
    public var target: String { query.map { "\(path)?\($0)" } ?? path }

    /// The whole URL, without user and password (they must not reach logs) and with the fragment.
    public var description: String {
        "\(origin)\(target)" + (fragment.map { "#\($0)" } ?? "")
    }
}
