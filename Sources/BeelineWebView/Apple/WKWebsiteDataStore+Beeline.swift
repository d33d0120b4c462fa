// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit) && canImport(Network)
public import BeelineProxy
import BeelineURLSession
public import WebKit

extension WKWebsiteDataStore {
    /// Sends everything that web views of this data store load through the proxy: pages, frames, XHR, WebSockets and downloads.
    /// WebKit still uses TLS with the site under the site's name; only the remote endpoint of the socket changes.
    ///
    /// Call it before the first load, and again if `rebind()` has changed the proxy's port. Before iOS 17 and macOS 14, WebKit
    /// supports no proxy and uses the system's resolver.
    ///
    /// - Parameter proxy: The proxy; `nil` removes it. It must live as long as it is used.
    @available(macOS 14, iOS 17, visionOS 1, *)
    @MainActor
    public func use(_ proxy: BeelineProxy?) {
        proxyConfigurations = proxy.flatMap(\.networkConfiguration).map { [$0] } ?? []
    }
}
#endif
