// SPDX-License-Identifier: Apache-2.0

#if canImport(Network)
package import BeelineProxy
import Names
package import Network

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
extension BeelineProxy {
    /// The proxy's current address, user and password as an Apple `ProxyConfiguration`, for sessions and web views.
    package var networkConfiguration: Network.ProxyConfiguration? {
        guard let port = NWEndpoint.Port(rawValue: endpoint.port) else { return nil }
        let host = NWEndpoint.Host(endpoint.address.description)
        var way = Network.ProxyConfiguration(httpCONNECTProxy: .hostPort(host: host, port: port))
        way.excludedDomains = Self.localHosts
        if let credentials = configuration.credentials {
            way.applyCredential(username: credentials.user, password: credentials.password)
        }
        return way
    }
}
#endif
