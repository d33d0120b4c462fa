// SPDX-License-Identifier: Apache-2.0

public import Names

/// Local URLs for players and closed SDKs that accept only a URL.
///
/// ```swift
/// var configuration = ProxyConfiguration()
/// configuration.gatewayHosts = ["live.example.com"]
/// let proxy = try await BeelineProxy.start(configuration, client: client)
/// let url = try proxy.gateway?.localURL(for: HTTPURL("https://live.example.com/a/index.m3u8"))
/// ```
///
/// The client sends each request for such a URL to the origin by its name. TLS, cookies (kept in the client's jar) and
/// ranges work as in a direct request. A WebSocket is opened in the same way. Redirects, and absolute links in HLS
/// playlists and DASH manifests, lead back to the gateway if their hosts are listed. A URL contains a secret token, so
/// that other apps cannot use it.
public struct Gateway: Sendable {
    private let proxy: BeelineProxy
    private let links: GatewayLinks

    init(proxy: BeelineProxy, links: GatewayLinks) {
        self.proxy = proxy
        self.links = links
    }

    /// The local URL for a URL: `ws://127.0.0.1:…` for a WebSocket, `http://127.0.0.1:…` otherwise. It is valid as long as the
    /// proxy keeps its port.
    ///
    /// - Throws: ``ProxyError`` with code `notListed` for a host that is not in ``ProxyConfiguration/gatewayHosts``.
    public func localURL(for url: HTTPURL) throws(ProxyError) -> HTTPURL {
        let scheme: Scheme = url.origin.httpEquivalent == url.origin ? .http : .ws
        guard let path = links.path(for: url), let local = try? HTTPURL("\(scheme.name)://\(proxy.endpoint)\(path)")
        else { throw ProxyError(.notListed, "the gateway does not carry \(url.origin): list its host in gatewayHosts") }
        return local
    }
}
