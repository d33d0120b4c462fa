// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import Names

/// A ``DialRace`` for callers that carry bytes themselves. It ends with a bare channel on the loop on which it was started.
package final class ChannelDial {
    /// A connected channel. A tunnel's has no handlers left.
    package struct DialResult {
        package let channel: any Channel
        package let endpoint: Endpoint
        /// Whether each direction ends separately. TLS with the origin does not support that.
        package let halfCloses: Bool
        /// The origin's first bytes, which arrived together with a proxy's answer; empty without a tunnel.
        package let surplus: ByteBuffer
    }

    private let race: Result<DialRace, DirectHTTPError>
    private let done: (Result<DialResult, DirectHTTPError>) -> Void

    /// Called on the loop.
    ///
    /// - Parameters:
    ///   - isTunnel: whether the caller does TLS with an origin with a secure scheme.
    ///   - done: called once, on the loop, perhaps before ``start()`` returns.
    package init(
        to list: EndpointList,
        for origin: Origin,
        after earlier: [Attempt] = [],
        route: Route,
        on loop: any EventLoop,
        settings: DialSettings,
        tls: TLSSettings,
        engine: Engine,
        isTunnel: Bool,
        attempted: @escaping (Attempt) -> Void,
        done: @escaping (Result<DialResult, DirectHTTPError>) -> Void
    ) {
        self.done = done
        var tls = tls
        tls.offersHTTP2 = false
        let key = PoolKey(origin: origin, tls: tls, route: route)
        race = Result { () throws(DirectHTTPError) in
            let target = try DialTarget(
                key: key,
                contexts: engine.contexts,
                proxies: engine.proxies,
                ech: engine.ech,
                isTunnel: isTunnel
            )
            var list = list
            if !isTunnel { try list.requireECH(for: key) }
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
                        return DialResult(
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

    package func start() {
        switch race {
        case .success(let race): race.start()
        case .failure(let error): done(.failure(error))
        }
    }

    /// Ends the dial because its time is over. `done` is called with code `connectTimeout`, unless it was already called.
    package func expire() { try? race.get().expire() }

    /// Cancels the dial. `done` is called with code `cancelled`, unless it was already called.
    package func cancel() { try? race.get().cancel() }
}
