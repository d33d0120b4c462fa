// SPDX-License-Identifier: Apache-2.0

public import HTTPDNS
public import Names

/// What a ``BeelineProxy`` does, and its bounds.
public struct ProxyConfiguration: Sendable {
    /// Where it listens. Default 127.0.0.1 and a port that the system picks.
    ///
    /// Anything but a loopback address needs ``credentials``.
    public var listen = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
    /// What clients must show; nil: nothing. Default nil.
    public var credentials: ProxyCredentials?
    /// Where it goes.
    public var policy = AccessPolicy()
    /// Its bounds.
    public var limits = ProxyLimits()
    /// Whether forwarded messages tell that a proxy was there (`Via`, RFC 9110 §7.6.3). Default false.
    public var addsVia = false
    /// Whether `/proxy.pac` is answered. Default true.
    public var servesPAC = true
    /// The path of a blank page that is answered at every `http://` host, without asking the site. A browser that takes a
    /// cookie only on a page of its host can be given cookies there before the site is asked for anything. It must be one
    /// that nobody else can guess: ``unguessablePath()``. Default nil: there is none.
    public var blankPagePath: String?
    /// The hosts that the gateway carries, with everything below them; see ``Gateway``. Default: none, and no gateway.
    public var gatewayHosts: DomainSet = []
    /// Told what happens, on the proxy's event loop: it must not wait.
    public var onEvent: (@Sendable (ProxyEvent) -> Void)?

    /// The defaults.
    public init() {}

    /// A path for ``blankPagePath``, another one each time.
    public static func unguessablePath() -> String { "/\(Token.make())" }
}
