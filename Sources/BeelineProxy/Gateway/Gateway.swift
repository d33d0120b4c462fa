// SPDX-License-Identifier: Apache-2.0

public import Names

/// URLs on this machine for players and closed SDKs that take only a URL.
///
/// ```swift
/// var configuration = ProxyConfiguration()
/// configuration.gatewayHosts = ["live.example.com"]
/// let proxy = try await BeelineProxy.start(configuration, client: client)
/// let url = try proxy.gateway?.localURL(for: HTTPURL("https://live.example.com/a/index.m3u8"))
/// ```
///
/// What is asked of such a URL is asked by the client, of the origin by its name: TLS, cookies (which its jar keeps) and
/// ranges are those of a request of its own; a WebSocket is opened the same way. Redirects, and absolute links in HLS playlists and DASH manifests, lead back to
/// the gateway where their hosts are listed. A URL has a token that nobody can guess, so other apps cannot use it.
public struct Gateway: Sendable {
    private let proxy: BeelineProxy
    private let links: GatewayLinks

    init(proxy: BeelineProxy, links: GatewayLinks) {
        self.proxy = proxy
        self.links = links
    }

    /// The URL on this machine that stands for a URL: `ws://127.0.0.1:…` for a WebSocket's, `http://127.0.0.1:…` for the others.
    /// It holds as long as the proxy has its port.
    ///
    /// - Throws: ``ProxyError`` with code `notListed` for a host that ``ProxyConfiguration/gatewayHosts`` does not have.
    public func localURL(for url: HTTPURL) throws(ProxyError) -> HTTPURL {
        let scheme: Scheme = url.origin.httpEquivalent == url.origin ? .http : .ws
        guard let path = links.path(for: url), let local = try? HTTPURL("\(scheme.name)://\(proxy.endpoint)\(path)")
        else {
            throw ProxyError(.notListed, "the gateway does not carry \(url.origin): list its host in gatewayHosts")
        }
        return local
    }
}
