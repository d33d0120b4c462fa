// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import Names

/// A ``DialRace`` for callers that carry bytes themselves. It ends with a bare channel on the loop on which it was started.
package final class ChannelDial {
    /// A connected channel.
    package struct Dialed {
        /// The channel. A tunnel's has no handlers left and allows half-closure; TLS does not support half-closure.
        package let channel: any Channel
        /// The endpoint that it is connected to.
        package let endpoint: Endpoint
        /// All attempts.
        package let attempts: [Attempt]
    }

    /// For origins and proxies with TLS.
    private static let contexts = TLSContexts()
    private static let proxies = AuthMemory()

    private let race: DialRace?

    /// Starts to dial. Called on the loop.
    ///
    /// - Parameters:
    ///   - endpoints: the endpoints in the order to try them; the proxy's if the route has one.
    ///   - origin: the origin. Through a proxy, a secure scheme asks for a tunnel.
    ///   - route: the way to the origin.
    ///   - loop: the event loop.
    ///   - settings: how to race.
    ///   - tls: the TLS settings for an origin with a secure scheme; nil: the caller does TLS in the tunnel.
    ///   - deadline: when the dial fails; nil: no limit.
    ///   - done: called once, on the loop, perhaps before this initializer returns.
    package init(
        to endpoints: [Endpoint],
        for origin: Origin,
        route: Route,
        on loop: any EventLoop,
        settings: DialSettings,
        tls: TLSSettings? = nil,
        deadline: NIODeadline?,
        done: @escaping (Result<Dialed, DirectHTTPError>) -> Void
    ) {
        let target: DialTarget
        do {
            let key = PoolKey(origin: origin, tls: tls ?? TLSSettings(), route: route)
            target = try DialTarget(key: key, contexts: Self.contexts, proxies: Self.proxies, isTunnel: tls == nil)
        } catch {
            race = nil
            done(.failure(error))
            return
        }
        let race = DialRace(
            on: loop,
            to: endpoints,
            of: target,
            settings: settings,
            deadline: deadline,
            ended: { _ in }
        ) { result in
            done(
                result.map { won in
                    // With half-closure allowed, NIOSSL waits for its shutdown timeout when it closes first.
                    if tls == nil || !origin.scheme.isSecure {
                        try? won.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
                    }
                    return Dialed(channel: won.channel, endpoint: won.winner.endpoint, attempts: won.attempts)
                }
            )
        }
        self.race = race
        race.start()
    }

    /// Cancels the dial. `done` is called with code `cancelled`, unless it was already called.
    package func cancel() { race?.cancel() }
}
