// SPDX-License-Identifier: Apache-2.0

package import Names

/// The way to an origin: direct, through a proxy, or through a Unix domain socket.
public enum Route: Hashable, Sendable {
    /// To the origin's own endpoints.
    case direct
    /// Through a proxy, which gets the origin by name: with CONNECT for https, ws and wss, with the whole URL for http (RFC 9110
    /// §7.2, §9.3.6), or with SOCKS5 for all schemes.
    indirect case proxy(Proxy)
    /// To the Unix domain socket at this path, at most 103 bytes long. Host, SNI and certificate check stay those of the origin.
    /// No endpoints are resolved, and the reported endpoint is `0.0.0.0:0`.
    case unixSocket(String)

    /// The proxy; nil if there is none.
    package var proxy: Proxy? { if case .proxy(let proxy) = self { proxy } else { nil } }

    /// The path of the Unix domain socket; nil if there is none.
    package var socketPath: String? { if case .unixSocket(let path) = self { path } else { nil } }

    /// The proxy that forwards the requests for an origin, which then carry the whole URL; nil if there is none.
    package func forwarder(for origin: Origin) -> Proxy? {
        guard case .proxy(let proxy) = self, proxy.kind == .http, !proxy.tunnelsPlainHTTP, origin.scheme == .http else {
            return nil
        }
        return proxy
    }
}
