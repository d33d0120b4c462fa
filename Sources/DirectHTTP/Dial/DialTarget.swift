// SPDX-License-Identifier: Apache-2.0

import Names

/// What every endpoint of one dial must lead to, and what is done with a TCP connection until it does.
struct DialTarget: Sendable {
    let key: PoolKey
    /// In this order.
    let steps: [DialStep]
    /// What proxies asked for.
    let proxies: AuthMemory

    /// - Parameter isTunnel: whether it ends with a connection that leads to the origin, and somebody else speaks TLS in it.
    init(key: PoolKey, contexts: TLSContexts, proxies: AuthMemory, isTunnel: Bool = false) throws(DirectHTTPError) {
        self.key = key
        self.proxies = proxies
        var steps: [DialStep] = []
        if case .proxy(let proxy) = key.route {
            switch proxy.kind {
            case .socks5:
                steps.append(.socks(proxy))
            case .http:
                if proxy.origin.scheme.isSecure {
                    var settings = proxy.tls ?? key.tls.forProxy
                    // CONNECT and forwarded requests are written as HTTP/1.1, whatever the settings allow for origins.
                    settings.offersHTTP2 = false
                    steps.append(.tls(try TLSStep(settings, proxy.origin.host, contexts, peer: "the proxy \(proxy) ")))
                }
                // What is forwarded instead goes to the proxy with its whole URL; a WebSocket cannot be.
                if key.origin.scheme != .http { steps.append(.connect(proxy)) }
            }
        }
        if key.origin.scheme.isSecure, !isTunnel {
            steps.append(.tls(try TLSStep(key.tls, key.origin.host, contexts, peer: "")))
        }
        self.steps = steps
    }

    /// Whether what is read comes out of TLS.
    var isSecured: Bool {
        steps.contains { if case .tls = $0 { true } else { false } }
    }
}

/// One step from TCP to a connection that leads to the origin.
enum DialStep: Sendable {
    case tls(TLSStep)
    case connect(Proxy)
    case socks(Proxy)
}

/// What makes connections interchangeable: the origin, how TLS is done and the way there. Never an address.
///
/// An object, because every step of an exchange passes it on, and a copy of all that it says costs more than that.
final class PoolKey: Hashable, Sendable {
    let origin: Origin
    let tls: TLSSettings
    let route: Route
    /// Of the origin, which tells nearly all keys apart; the settings would cost more to hash, roots and all, than they spread.
    private let hash: Int

    init(origin: Origin, tls: TLSSettings, route: Route) {
        self.origin = origin
        self.tls = tls
        self.route = route
        hash = origin.hashValue
    }

    /// The key of connections that speak HTTP/1.1 only.
    var withoutHTTP2: PoolKey {
        var tls = tls
        tls.offersHTTP2 = false
        return PoolKey(origin: origin, tls: tls, route: route)
    }

    /// The proxy that requests are forwarded by, if there is one: then they carry the whole URL.
    var forwarder: Proxy? {
        guard case .proxy(let proxy) = route, proxy.kind == .http, origin.scheme == .http else { return nil }
        return proxy
    }

    static func == (one: PoolKey, other: PoolKey) -> Bool {
        one === other
            || one.hash == other.hash && one.origin == other.origin && one.tls == other.tls && one.route == other.route
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}
