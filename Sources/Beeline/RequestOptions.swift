// SPDX-License-Identifier: Apache-2.0

public import DirectHTTP

/// What one request does otherwise than the client's configuration says. Nil means: as configured.
public struct RequestOptions: Sendable {
    /// How long it may take, its redirects included.
    public var limits: TimeLimits?
    /// What happens to redirects.
    public var redirects: RedirectPolicy?
    /// Whether the jar's cookies are sent. Default true.
    public var sendsCookies = true
    /// Whether the response's cookies are kept. Default true.
    public var keepsCookies = true

    /// The defaults.
    public init() {}
}
