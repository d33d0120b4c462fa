// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// The target of a dial, with the steps from a TCP connection to a connection to the origin.
struct DialTarget: Sendable {
    let key: PoolKey
    let steps: [DialStep]
    /// Whether the caller carries the origin's bytes itself, so that the origin may send first.
    let isTunnel: Bool
    let proxies: AuthMemory
    /// The origins that have turned ECH off.
    let ech: NIOLockedValueBox<ECHTable>
    /// Whether the connection uses HTTP/2 without ALPN.
    var assumesHTTP2 = false
    /// Called on the loop with each head of a proxy's answer to a request for a tunnel.
    var onTunnelHead: (@Sendable (ReceivedHead) -> Void)?

    /// - Parameter isTunnel: whether the caller does TLS with the origin itself.
    init(
        key: PoolKey,
        contexts: TLSContexts,
        proxies: AuthMemory,
        ech: NIOLockedValueBox<ECHTable>,
        isTunnel: Bool = false
    ) throws(DirectHTTPError) {
        self.key = key
        self.isTunnel = isTunnel
        self.proxies = proxies
        self.ech = ech
        var steps: [DialStep] = []
        if case .proxy(let proxy) = key.route {
            let target = proxy.target ?? key.origin
            switch proxy.kind {
            case .socks5:
                steps.append(.socks(proxy, target))
            case .http:
                if let first = proxy.preproxy { steps.append(.socks(first, proxy.origin)) }
                if proxy.origin.scheme.isSecure {
                    var settings = proxy.tls ?? key.tls.forProxy
                    // CONNECT and forwarded requests are HTTP/1.1, even if the settings allow HTTP/2 for origins.
                    settings.offersHTTP2 = false
                    steps.append(
                        .tls(
                            try TLSStep(
                                settings,
                                host: proxy.origin.host,
                                contexts: contexts,
                                peer: "the proxy \(proxy) "
                            )
                        )
                    )
                }
                // Plain HTTP is forwarded with its whole URL instead of tunnelled. A WebSocket cannot be forwarded.
                if key.forwarder == nil { steps.append(.connect(proxy, target)) }
            }
        }
        if key.origin.scheme.isSecure, !isTunnel {
            steps.append(.tls(try TLSStep(key.tls, host: key.origin.host, contexts: contexts, peer: "")))
        }
        self.steps = steps
    }

    /// The plan for the ClientHello to the origin. An HTTPS record describes the origin's own endpoints, not those of a proxy.
    func echPlan(for service: EndpointService?, now: NIODeadline) -> ECHPlan {
        ECHPlan(key.tls, service: key.route == .direct ? service : nil) { list in
            ech.withLockedValue { $0.rejectedName(of: key.origin, list: list, now: now) }
        }
    }

    /// Whether the connection uses TLS.
    var isSecured: Bool { steps.contains { if case .tls = $0 { true } else { false } } }
}

/// One step from a TCP connection to a connection to the origin.
enum DialStep: Sendable {
    case tls(TLSStep)
    /// A tunnel of an HTTP proxy to an origin.
    case connect(Proxy, Origin)
    /// A connection of a SOCKS5 proxy to an origin.
    case socks(Proxy, Origin)
}

/// Identifies interchangeable connections: the origin, the TLS settings and the route. It never has an address.
///
/// A class, because every step of an exchange passes it on, and copying all its parts costs more.
final class PoolKey: Hashable, Sendable {
    let origin: Origin
    let tls: TLSSettings
    let route: Route
    /// The hash of the origin only. Origins distinguish nearly all keys, and hashing the settings with their roots is expensive.
    private let hash: Int

    init(origin: Origin, tls: TLSSettings, route: Route) {
        self.origin = origin
        self.tls = tls
        self.route = route
        hash = origin.hashValue
    }

    /// The same key for connections that use HTTP/1.1 only.
    var withoutHTTP2: PoolKey {
        var tls = tls
        tls.offersHTTP2 = false
        return PoolKey(origin: origin, tls: tls, route: route)
    }

    /// The proxy that forwards requests; nil if there is none.
    var forwarder: Proxy? { route.forwarder(for: origin) }

    static func == (one: PoolKey, other: PoolKey) -> Bool {
        one === other
            || one.hash == other.hash && one.origin == other.origin && one.tls == other.tls && one.route == other.route
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
