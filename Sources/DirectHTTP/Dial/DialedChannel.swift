// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import Names

/// A connected channel for a caller that carries bytes itself. A tunnel's has no handlers left.
package struct DialedChannel {
    package let channel: any Channel
    package let endpoint: Endpoint
    /// Whether each direction ends separately. TLS with the origin does not support that.
    package let halfCloses: Bool
    /// The origin's first bytes, which arrived together with a proxy's answer; empty without a tunnel.
    package let surplus: ByteBuffer
}

extension Engine {
    /// Makes a race for a caller that carries bytes itself. Called on the loop.
    ///
    /// - Parameters:
    ///   - isTunnel: whether the caller does TLS with an origin with a secure scheme.
    ///   - done: called once, on the loop, perhaps before ``DialRace/start()`` returns.
    /// - Returns: the race, which the caller starts; nil if none can begin, and `done` was called.
    package func race(
        to list: EndpointList,
        for origin: Origin,
        after earlier: [Attempt] = [],
        route: Route,
        on loop: any EventLoop,
        settings: DialSettings,
        tls: TLSSettings,
        isTunnel: Bool,
        attempted: @escaping (Attempt) -> Void,
        done: @escaping (Result<DialedChannel, DirectHTTPError>) -> Void
    ) -> DialRace? {
        var list = list
        var tls = tls
        tls.offersHTTP2 = false
        let key = PoolKey(origin: origin, tls: tls, route: route)
        let target: DialTarget
        do throws(DirectHTTPError) {
            target = try DialTarget(key: key, contexts: contexts, proxies: proxies, ech: ech, isTunnel: isTunnel)
            if !isTunnel { try list.requireECH(for: key) }
        } catch {
            done(.failure(error))
            return nil
        }
        return DialRace(
            on: loop,
            to: list.endpoints,
            of: target,
            after: earlier,
            settings: settings,
            deadline: nil,
            services: list.services,
            ended: attempted
        ) { result in
            done(
                result.map { won in
                    // With half-closure allowed, NIOSSL waits for its shutdown timeout when it closes first.
                    let halfCloses = isTunnel || !origin.scheme.isSecure
                    if halfCloses {
                        try? won.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
                    }
                    return DialedChannel(
                        channel: won.channel,
                        endpoint: won.winner.endpoint,
                        halfCloses: halfCloses,
                        surplus: won.secured.surplus
                    )
                }
            )
        }
    }
}
