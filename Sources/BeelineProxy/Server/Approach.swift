// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import HTTPDNS
import NIOCore
import Names

/// Connects to one destination: resolves the name, applies the policy, races the endpoints. Runs on the event loop, and ends once
/// unless it is cancelled.
final class Approach {
    /// An established connection.
    struct Arrival {
        let wire: Wire
        let endpoint: Endpoint
        /// The upstream proxy that it goes through; nil if none.
        let proxy: Proxy?
    }

    /// The purpose of the connection.
    enum Purpose {
        /// A tunnel for the client's bytes.
        case tunnel
        /// Forwarded requests for `http` URLs.
        case requests
        /// A WebSocket of the gateway, which uses TLS if `isSecure` is set.
        case webSocket(isSecure: Bool)

        fileprivate var scheme: Scheme {
            switch self {
            case .tunnel: .https
            case .requests: .http
            case .webSocket(let isSecure): isSecure ? .wss : .ws
            }
        }
    }

    private let server: ProxyLoop
    private let destination: Destination
    private let purpose: Purpose
    private let deadline: NIODeadline?
    private var done: ((Result<Arrival, Refusal>) -> Void)?
    private var task: Task<Void, Never>?
    private var dial: ChannelDial?
    /// The endpoints that a cached answer led to without success, and the error. Such a name is resolved again, once.
    private var failed: (endpoints: Set<Endpoint>, refusal: Refusal)?
    private var isKeptAnswer = false

    /// - Parameters:
    ///   - server: provides the resolver and the policy.
    ///   - destination: the destination to connect to.
    ///   - purpose: the purpose of the connection.
    ///   - done: called once on the event loop, possibly before ``start()`` returns.
    init(
        _ server: ProxyLoop,
        to destination: Destination,
        for purpose: Purpose,
        done: @escaping (Result<Arrival, Refusal>) -> Void
    ) {
        self.server = server
        self.destination = destination
        self.purpose = purpose
        self.done = done
        deadline = server.configuration.limits.connect.map { server.loop.now + TimeAmount($0) }
    }

    func start() {
        let policy = server.configuration.policy
        if case .tunnel = purpose, let refusal = policy.refusal(ofTunnelTo: destination) {
            return end(.failure(refusal))
        }
        let origin = Origin(scheme: purpose.scheme, host: destination.host, port: destination.port)
        let client = server.client
        if case .proxy(let proxy) = client.configuration.proxies.route(to: origin) { return approach(proxy, origin) }
        if let problem = client.configuration.proxies.problem(with: origin) {
            return end(.failure(Refusal(502, problem)))
        }
        let pinned = client.configuration.pinned.endpoints(
            of: destination.host,
            port: destination.port,
            in: client.resolver.network
        )
        if let pinned { return judge(pinned, source: .trusted, origin) }
        let known = client.resolver.cached(destination.host, port: destination.port)
        // A stale answer is used only if no newer one is available, which takes time to find out.
        if let known, known.source != .stale {
            isKeptAnswer = true
            return resolved(.success(known), origin)
        }
        ask(origin)
    }

    /// Cancels without calling `done`.
    func cancel() {
        done = nil
        task?.cancel()
        dial?.cancel()
    }

    /// Fails if the deadline has passed. The proxy checks all clients periodically, so a dial needs no timer of its own.
    func check(now: NIODeadline) {
        guard let deadline, now >= deadline, done != nil else { return }
        let refusal = Refusal(504, "\(destination) was not reached in time")
        task?.cancel()
        // A cancelled dial still reports its attempts.
        if let dial { dial.cancel() } else { end(.failure(refusal)) }
    }

    // MARK: Names

    private func ask(_ origin: Origin) {
        wait { [resolver = server.client.resolver, destination] () throws(ResolutionError) in
            try await resolver.resolve(destination.host, port: destination.port)
        } then: { [self] result in
            resolved(result, origin)
        }
    }

    private func resolved(_ result: Result<Resolution, ResolutionError>, _ origin: Origin) {
        switch result {
        case .success(let resolution):
            if let failed, failed.endpoints.isSuperset(of: resolution.endpoints) {
                return end(.failure(failed.refusal))
            }
            judge(resolution.endpoints, source: .init(resolution, by: server.client.resolver), origin)
        case .failure(let error):
            let status: Int
            switch error.code {
            case .bogusAnswer: status = 403
            case .timeLimit: status = 504
            case .tooManyFlights, .shutDown: status = 503
            default: status = 502
            }
            end(.failure(Refusal(status, error.message)))
        }
    }

    /// Runs cancellable work off the event loop. ``check(now:)`` enforces the deadline.
    private func wait<Success: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success,
        then: @escaping (Result<Success, Failure>) -> Void
    ) {
        let loop = server.loop
        let back = NIOLoopBound((approach: self, then: then), eventLoop: loop)
        task = Task {
            let result: Result<Success, Failure>
            do throws(Failure) {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            loop.execute {
                let (approach, then) = back.value
                if approach.done != nil { then(result) }
            }
        }
    }

    // MARK: Routes

    private func approach(_ proxy: Proxy, _ origin: Origin) {
        let source = ProxyEndpoints(server.client.resolver)
        do throws(DirectHTTPError) {
            if let known = try source.literal(proxy.origin) { return reach(known, of: origin, through: proxy) }
        } catch {
            return end(.failure(Refusal(502, "the upstream proxy \(proxy): \(error.message)")))
        }
        wait {
            try? await source.endpoints(for: proxy.origin).endpoints
        } then: { [self] result in
            guard case .success(let endpoints?) = result, !endpoints.isEmpty else {
                return end(.failure(Refusal(502, "the upstream proxy \(proxy) has no address")))
            }
            reach(endpoints, of: origin, through: proxy)
        }
    }

    private func reach(_ endpoints: [Endpoint], of origin: Origin, through proxy: Proxy) {
        guard !endpoints.contains(where: server.own.contains) else {
            return end(.failure(Refusal(403, "the upstream proxy \(proxy) is this proxy: set another or none")))
        }
        // The upstream proxy resolves names, so the policy can be applied only to a destination given by address.
        if let address = destination.host.address {
            do throws(Refusal) {
                _ = try server.configuration.policy.permitted(
                    [Endpoint(address, port: destination.port)],
                    for: destination,
                    source: .literal,
                    own: server.own,
                    behind: server.client.resolver.network.nat64
                )
            } catch {
                return end(.failure(error))
            }
        }
        race(endpoints, origin, .proxy(proxy))
    }

    private func judge(_ endpoints: [Endpoint], source: AccessPolicy.Source, _ origin: Origin) {
        do throws(Refusal) {
            let permitted = try server.configuration.policy.permitted(
                endpoints,
                for: destination,
                source: source,
                own: server.own,
                behind: server.client.resolver.network.nat64
            )
            race(permitted, origin, .direct)
        } catch {
            end(.failure(error))
        }
    }

    // MARK: Sockets

    private func race(_ endpoints: [Endpoint], _ origin: Origin, _ route: Route) {
        let settings = server.client.configuration.engine.dial
        var tls: TLSSettings?
        if case .webSocket = purpose {
            tls = server.client.configuration.tls
            tls?.offersHTTP2 = false
        }
        var way = route
        if case .proxy(var proxy) = route, proxy.tls == nil {
            // A tunnel has no TLS of ours, but the connection to the upstream proxy may use TLS.
            proxy.tls = server.client.configuration.tls.forProxy
            way = .proxy(proxy)
        }
        dial = ChannelDial(
            to: endpoints,
            for: origin,
            route: way,
            on: server.loop,
            settings: settings,
            tls: tls,
            deadline: nil
        ) { [self] result in
            dial = nil
            guard done != nil else {
                if case .success(let dialed) = result { dialed.channel.close(promise: nil) }
                return
            }
            if route == .direct { learn(result, settings.stagger) }
            arrived(result, route) { refusal in
                // The site may have moved: resolve the name again, now that the resolver has recorded the failure.
                guard route == .direct, isKeptAnswer, failed == nil else { return end(.failure(refusal)) }
                failed = (Set(endpoints), refusal)
                ask(origin)
            }
        }
        // The dial may already be over. It must not be stored then, because it retains this object.
        if done == nil { dial = nil }
    }

    private func arrived(
        _ result: Result<ChannelDial.Dialed, DirectHTTPError>,
        _ route: Route,
        unreachable: (Refusal) -> Void
    ) {
        switch result {
        case .success(let dialed):
            do {
                var hasTLS = false
                if case .webSocket(isSecure: true) = purpose { hasTLS = true }
                let wire = try server.wire(on: dialed.channel, halfCloses: !hasTLS)
                var proxy: Proxy?
                if case .proxy(let upstream) = route { proxy = upstream }
                end(.success(Arrival(wire: wire, endpoint: dialed.endpoint, proxy: proxy)))
            } catch {
                end(.failure(Refusal(502, "\(dialed.endpoint) closed the connection at once")))
            }
        case .failure(let error):
            // Only ``check(now:)`` cancels a dial whose result is still awaited.
            let isLate = error.code == .connectTimeout || error.code == .cancelled
            let refusal = Refusal(isLate ? 504 : 502, isLate ? "\(destination) was not reached in time" : error.message)
            if isLate { end(.failure(refusal)) } else { unreachable(refusal) }
        }
    }

    private func learn(_ result: Result<ChannelDial.Dialed, DirectHTTPError>, _ stagger: Duration) {
        var attempts: [Attempt]
        switch result {
        case .success(let dialed): attempts = dialed.attempts
        case .failure(let error):
            attempts = error.attempts
            // Attempts that were abandoned at the end of a failed dial had no answer within its time.
            for index in attempts.indices where attempts[index].outcome == .abandoned {
                attempts[index].outcome = .failed(.connectTimeout, "did not answer")
            }
        }
        for attempt in attempts { server.client.resolver.learn(from: attempt, of: destination.host) }
        server.client.resolver.learn(from: attempts, of: destination.host, stagger: stagger)
    }

    private func end(_ result: Result<Arrival, Refusal>) {
        guard let done else { return }
        self.done = nil
        task = nil
        done(result)
    }
}
