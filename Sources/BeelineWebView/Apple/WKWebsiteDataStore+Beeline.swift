// SPDX-License-Identifier: Apache-2.0

#if canImport(WebKit) && canImport(Network)
public import BeelineProxy
import BeelineURLSession
public import WebKit

extension WKWebsiteDataStore {
    /// Sends everything that web views of this data store load through the proxy: pages, frames, XHR, WebSockets,
    /// downloads. WebKit speaks TLS with the site itself, under the site's name; only the far end of the socket
    /// changes.
    ///
    /// Call it before the first load, and again where the proxy found another port (`rebind()`). Before iOS 17 and
    /// macOS 14 WebKit cannot be told a proxy: there its names are the system resolver's affair.
    ///
    /// - Parameter proxy: The proxy; nil: none any more. It must live for as long as it is used.
    @available(macOS 14, iOS 17, visionOS 1, *)
    @MainActor
    public func use(_ proxy: BeelineProxy?) {
        proxyConfigurations = proxy.flatMap(\.networkConfiguration).map { [$0] } ?? []
    }
}
#endif
