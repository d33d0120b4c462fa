// SPDX-License-Identifier: Apache-2.0

public import Names

/// The settings for starting a ``Browser``.
public struct BrowserConfiguration: Sendable {
    /// The kind of browser; nil uses the first installed one of ``BrowserKind``. Default nil.
    public var kind: BrowserKind?
    /// The proxy for all requests; nil sets none. Default nil.
    public var proxy: Endpoint?
    /// Whether the browser runs without a window. WebKitGTK always has one and needs a display. Default false.
    public var isHeadless = false
    /// PEM texts of additional trusted roots. Chromium and Firefox need NSS's certutil for them. WebKitGTK trusts only the
    /// system's roots. Default none.
    public var rootPEMs: [String] = []
    /// The path of the blank page that the proxy serves for every host in place of the site
    /// (`ProxyConfiguration.blankPagePath`). WebKitGTK accepts a host-only cookie only on a page of that host; nil uses a page
    /// of the site. Default nil.
    public var blankPagePath: String?
    /// The browser's environment. Default: the environment of this process.
    public var environment: [String: String]?
    /// Additional arguments for the browser. Default none.
    public var arguments: [String] = []
    /// Certificates that WebKitGTK accepts without verification: PEM files by host. Default none.
    package var pinnedCertificates: [String: String] = [:]
    /// The time limit for starting the browser. Default 60 s.
    public var startLimit = Duration.seconds(60)
    /// The time limit for one command, including the load of a page. Default 60 s.
    public var commandLimit = Duration.seconds(60)
    /// How often to check for cookie changes while a caller follows them. Default 500 ms, at least 100 ms.
    public var cookieInterval = Duration.milliseconds(500)

    /// Creates a configuration with the default values.
    public init() {}
}
