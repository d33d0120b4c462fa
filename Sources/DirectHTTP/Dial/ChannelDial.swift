// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import Names

/// A ``DialRace`` for those who carry bytes themselves: it ends with a bare channel on the loop it was started on.
package final class ChannelDial {
    /// A channel that stands.
    package struct Dialed {
        /// The channel. On a tunnel's no handler is left, and half-closure is allowed; TLS knows none.
        package let channel: any Channel
        /// Where it leads.
        package let endpoint: Endpoint
        /// What every attempt did.
        package let attempts: [Attempt]
    }

    /// For origins and proxies that are spoken to over TLS.
    private static let contexts = TLSContexts()
    private static let proxies = AuthMemory()

    private let race: DialRace?

    /// Starts to dial; on the loop.
    ///
    /// - Parameters:
    ///   - endpoints: where to, in the order to try them; those of the proxy where the route has one.
    ///   - origin: what for. Through a proxy, a secure scheme asks it for a tunnel.
    ///   - route: the way.
    ///   - loop: the event loop.
    ///   - settings: how to race.
    ///   - tls: how TLS is done with an origin whose scheme is secure; nil: somebody else does it in the tunnel.
    ///   - deadline: when to give up.
    ///   - done: called once, on the loop, perhaps before this returns.
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
                    // NIOSSL, told to allow it, waits out its shutdown timeout when it closes first.
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

    /// Gives up; `done` is called with code `cancelled` where it has not been called.
    package func cancel() { race?.cancel() }
}
