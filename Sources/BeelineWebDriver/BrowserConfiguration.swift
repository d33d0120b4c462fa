// SPDX-License-Identifier: Apache-2.0

public import Names

/// Which browser is started, and how.
public struct BrowserConfiguration: Sendable {
    /// Which one; nil: the first of ``BrowserKind`` that is installed. Default nil.
    public var kind: BrowserKind?
    /// Where the proxy listens that all its requests go to; nil: it finds its servers by itself. Default nil.
    public var proxy: Endpoint?
    /// Whether it has no window. WebKitGTK always has one, and needs a display. Default false.
    public var isHeadless = false
    /// PEM texts with roots that it trusts beside its own. Chromium and Firefox need NSS's certutil for them, WebKitGTK
    /// trusts the system's roots alone. Default none.
    public var rootPEMs: [String] = []
    /// The path of the blank page that the proxy answers at every host in place of the site
    /// (`ProxyConfiguration.blankPagePath`). WebKitGTK takes a cookie for one host on a page of that host only; nil: on a page
    /// that the site gives. Default nil.
    public var blankPagePath: String?
    /// The environment of the browser. Default: this process's.
    public var environment: [String: String]?
    /// Arguments for the browser's program, behind those that it needs. Default none.
    public var arguments: [String] = []
    /// Certificates that WebKitGTK takes from a host as they are: PEM files by host. Default none.
    package var pinnedCertificates: [String: String] = [:]
    /// How long the browser may take to start. Default 60 s.
    public var startLimit = Duration.seconds(60)
    /// How long one command may take, the load of a page included. Default 60 s.
    public var commandLimit = Duration.seconds(60)
    /// How often its cookies are looked at for changes, while somebody follows them. Default 500 ms.
    public var cookieInterval = Duration.milliseconds(500)

    /// The defaults.
    public init() {}
}
