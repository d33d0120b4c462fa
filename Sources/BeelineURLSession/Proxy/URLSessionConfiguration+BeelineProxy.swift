// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
public import BeelineProxy
public import Foundation
import Names

extension URLSessionConfiguration {
    /// A configuration whose sessions go through the proxy: all kinds of tasks, with their bodies, redirects, cookies and
    /// certificates as they are, for only the far end of the socket changes.
    ///
    /// ```swift
    /// let session = URLSession(configuration: .beeline(proxy))
    /// ```
    ///
    /// - Parameters:
    ///   - proxy: the proxy. Where it found another port after a suspension (`rebind()`), make a new session.
    ///   - base: what the configuration is otherwise; it is changed. Default: `default`.
    public static func beeline(
        _ proxy: BeelineProxy,
        base: URLSessionConfiguration = .default
    ) -> URLSessionConfiguration {
        let endpoint = proxy.endpoint
        let host = endpoint.address.description
        let port = Int(endpoint.port)
        // The names of the keys for https exist as constants on macOS only; the keys themselves hold everywhere.
        base.connectionProxyDictionary = [
            "HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": port,
            "HTTPSEnable": 1, "HTTPSProxy": host, "HTTPSPort": port,
        ]
        #if canImport(Network)
        // Before these systems a proxy's password can only be given by the session's delegate.
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
            if let way = proxy.networkConfiguration { base.proxyConfigurations = [way] }
        }
        #endif
        return base
    }
}
#endif
