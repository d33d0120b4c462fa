// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// Credentials for proxies that forward requests. ``ProxyTunnelHandshake`` handles proxies that tunnel.
extension Engine {
    /// The `Proxy-Authorization` of a request; nil if no proxy forwards it, or if the proxy must send a challenge first.
    func proxyAnswer(for request: PreparedRequest, key: PoolKey) -> AuthMemory.Answer? {
        guard let proxy = key.forwarder, let credentials = proxy.credentials else { return nil }
        return proxies.authorization(
            credentials,
            for: proxy.origin,
            method: request.method,
            target: request.absoluteTarget,
            body: request.body.bytesInMemory
        )
    }

    /// Whether a response is a challenge of the proxy that can be answered.
    func isChallenge(_ response: HTTPResponse, key: PoolKey, used: AuthMemory.Answer?, isRemembered: Bool) -> Bool {
        guard let proxy = key.forwarder, let credentials = proxy.credentials,
            response.status == .proxyAuthenticationRequired
        else { return false }
        return proxies.recordChallenge(
            response.headerFields[values: .proxyAuthenticate],
            credentials,
            for: proxy.origin,
            used: used,
            isRemembered: isRemembered
        )
    }
}
