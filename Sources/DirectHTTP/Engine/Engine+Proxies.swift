// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// Who we are to a proxy that forwards requests. One that tunnels is told by ``ProxyTunnelHandler``.
extension Engine {
    /// What a request is sent with; nil where no proxy forwards it, or the proxy must ask first.
    func proxyAnswer(_ request: PreparedRequest, _ key: PoolKey) -> AuthMemory.Answer? {
        guard let proxy = key.forwarder, let credentials = proxy.credentials else { return nil }
        return proxies.authorization(
            credentials,
            for: proxy.origin,
            method: request.method,
            target: request.absoluteTarget,
            body: request.body.bytesInMemory
        )
    }

    /// Whether a response is a challenge of the proxy to which there is an answer.
    func isChallenge(
        _ response: HTTPResponse,
        _ key: PoolKey,
        used: AuthMemory.Answer?,
        isRemembered: Bool
    ) -> Bool {
        guard let proxy = key.forwarder, let credentials = proxy.credentials,
            response.status == .proxyAuthenticationRequired
        else { return false }
        return proxies.learn(
            response.headerFields[values: .proxyAuthenticate],
            credentials,
            for: proxy.origin,
            used: used,
            isRemembered: isRemembered
        )
    }
}
