// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
public import BeelineProxy
public import Foundation
import Names

#if canImport(Network)
// It declares `proxyConfigurations`.
import Network
#endif

extension URLSessionConfiguration {
    /// Creates a configuration whose sessions use the proxy, for all kinds of tasks. Bodies, redirects, cookies and
    /// certificates do not change; only the remote endpoint of the socket does. Requests to this machine (`localhost`,
    /// 127.0.0.1 and ::1) do not use the proxy, which refuses them.
    ///
    /// ```swift
    /// let session = URLSession(configuration: .beeline(proxy))
    /// ```
    ///
    /// - Parameters:
    ///   - proxy: The proxy. If `rebind()` has changed its port, create a new session.
    ///   - base: The configuration to change. Default: `default`.
    public static func beeline(
        _ proxy: BeelineProxy,
        base: URLSessionConfiguration = .default
    ) -> URLSessionConfiguration {
        let endpoint = proxy.endpoint
        let host = endpoint.address.description
        let port = Int(endpoint.port)
        // The constants of the https keys exist only on macOS; the keys work on all platforms.
        base.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": port,
            "HTTPSEnable": 1, "HTTPSProxy": host, "HTTPSPort": port,
            "ExceptionsList": BeelineProxy.localHosts,
        ]
        #if canImport(Network)
        // On earlier systems only the session's delegate can supply a proxy's password.
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
            if let way = proxy.networkConfiguration { base.proxyConfigurations = [way] }
        }
        #endif
        return base
    }

    /// Whether the session has proxies that are not in `connectionProxyDictionary`.
    var hasProxyConfigurations: Bool {
        #if canImport(Network)
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) { return !proxyConfigurations.isEmpty }
        #endif
        return false
    }
}
#endif
