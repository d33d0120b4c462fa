// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOCore
import Names

/// Connects to one destination according to its routing: finds its endpoints, applies the policy and races them. Runs
/// on the event loop, and ends once unless it is cancelled.
final class OriginConnector {
    struct Connection {
        let wire: Wire
        let endpoint: Endpoint
        /// The first bytes from the origin; only for a tunnel.
        let surplus: ByteBuffer
    }

    enum Purpose {
        /// A tunnel for the client's bytes.
        case tunnel
        /// Forwarded requests for `http` URLs.
        case requests
        /// A WebSocket of the gateway, which uses TLS if `isSecure` is set.
        case webSocket(isSecure: Bool)

        fileprivate var isTunnel: Bool { if case .tunnel = self { true } else { false } }

        func origin(of destination: Destination) -> Origin {
            let scheme: Scheme =
                switch self {
                case .tunnel: .https
                case .requests: .http
                case .webSocket(let isSecure): isSecure ? .wss : .ws
                }
            return Origin(scheme: scheme, host: destination.host, port: destination.port)
        }
    }

    private let server: ProxyLoop
    private let destination: Destination
    private let origin: Origin
    private let isTunnel: Bool
    private let source: OriginEndpoints
    private let deadline: NIODeadline?
    private let epoch: Int
    private var done: ((Result<Connection, Refusal>) -> Void)?
    private var task: Task<Void, Never>?
    private var dial: DialRace?
    /// The failure of all endpoints of the first list, while waiting for another list.
    private var firstFailure: Refusal?

    /// - Parameter done: called once on the event loop, possibly before ``start()`` returns.
    init(
        _ server: ProxyLoop,
        to destination: Destination,
        for purpose: Purpose,
        done: @escaping (Result<Connection, Refusal>) -> Void
    ) {
        self.server = server
        self.destination = destination
        self.done = done
        origin = purpose.origin(of: destination)
        isTunnel = purpose.isTunnel
        source = OriginEndpoints(
            server.client.configuration.routing(to: origin),
            resolver: server.client.resolver,
            screen: server.screen(for: destination),
            usesServices: !purpose.isTunnel,
            tls: server.client.configuration.tls
        )
        epoch = server.client.engine.epoch
        deadline = server.configuration.limits.connect.map { server.loop.now + TimeAmount(limit: $0) }
    }

    func start() {
        if isTunnel, let refusal = server.configuration.policy.refusal(ofTunnelTo: destination) {
            return end(.failure(refusal))
        }
        do {
            if let known = try source.known(for: origin) { return race(known) }
        } catch {
            return end(.failure(Refusal(error, at: destination)))
        }
        find { [source, origin] in try await source.endpoints(for: origin) }
    }

    /// Cancels without calling `done`.
    func cancel() {
        done = nil
        task?.cancel()
        dial?.cancel()
    }

    /// Fails if the deadline has passed. The proxy checks all clients periodically, so a connector needs no timer.
    func check(now: NIODeadline) {
        guard let deadline, now >= deadline, done != nil else { return }
        if let dial { return dial.expire() }
        task?.cancel()
        end(.failure(firstFailure ?? Refusal(504, "\(destination) was not resolved in time")))
    }

    /// Finds endpoints off the event loop and races them. ``check(now:)`` enforces the deadline.
    ///
    /// - Parameter earlier: as for ``race(_:after:)``.
    private func find(
        after earlier: [Attempt] = [],
        _ find: @escaping @Sendable () async throws -> EndpointList
    ) {
        let back = NIOLoopBound(self, eventLoop: server.loop)
        task = Task { [destination, loop = server.loop] in
            let result: Result<EndpointList, Refusal>
            do {
                result = .success(try await find())
            } catch {
                result = .failure(Refusal(error, at: destination))
            }
            loop.execute {
                let connector = back.value
                guard connector.done != nil else { return }
                switch result {
                case .success(let list): connector.race(list, after: earlier)
                case .failure(let refusal): connector.end(.failure(refusal))
                }
            }
        }
    }

    /// - Parameter earlier: the attempts at the endpoints that this list replaces; empty for the first list.
    private func race(_ list: EndpointList, after earlier: [Attempt] = []) {
        var settings = server.client.configuration.engine.dial
        let attempts = server.beginDial(to: min(list.endpoints.count, settings.maxAttempts))
        settings.maxConcurrentAttempts = attempts
        let dial = server.client.engine.race(
            to: list,
            for: origin,
            after: earlier,
            route: source.routing.route,
            on: server.loop,
            settings: settings,
            tls: server.client.configuration.tls,
            isTunnel: isTunnel,
            attempted: { [source, origin] in source.attempted($0, for: origin) },
            done: { [self] result in
                self.dial = nil
                server.endDial(attempts: attempts)
                switch result {
                case .success(let dialed) where done == nil: dialed.channel.close(promise: nil)
                case .success(let dialed): connected(dialed)
                case .failure(let error) where error.isOfAllEndpoints && earlier.isEmpty && done != nil:
                    let refusal = Refusal(error, at: destination)
                    firstFailure = refusal
                    find(after: error.attempts) { [source, origin] in
                        guard let other = try? await source.endpoints(for: origin, insteadOf: list) else {
                            throw refusal
                        }
                        return other
                    }
                case .failure(let error): end(.failure(Refusal(error, at: destination)))
                }
            }
        )
        self.dial = dial
        dial?.start()
    }

    private func connected(_ dialed: DialedChannel) {
        do {
            let wire = try server.wire(on: dialed.channel, halfCloses: dialed.halfCloses)
            wire.epoch = epoch
            end(.success(Connection(wire: wire, endpoint: dialed.endpoint, surplus: dialed.surplus)))
        } catch {
            end(.failure(Refusal(502, "\(dialed.endpoint) closed the connection at once")))
        }
    }

    private func end(_ result: Result<Connection, Refusal>) {
        guard let done else { return }
        self.done = nil
        task = nil
        done(result)
    }
}
