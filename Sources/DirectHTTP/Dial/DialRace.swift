// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Names

/// Runs a ``RacePlan`` on one event loop. It ends exactly once and closes all sockets but the winner's.
package final class DialRace {
    /// The result of a race: a connected and secured channel, and all attempts.
    struct RaceResult {
        var channel: any Channel
        var secured: Handshake.HandshakeResult
        var attempts: [Attempt]
        var winner: Attempt
    }

    private final class Candidate {
        var attempt: Attempt
        var channel: (any Channel)?
        var handshakeStart: NIODeadline?
        /// The plan for the ClientHello. A rejection changes it.
        var ech: ECHPlan
        /// Whether this is the second connection, which answers a proxy's challenge.
        var isAnswering = false

        init(_ attempt: Attempt, _ ech: ECHPlan) {
            self.attempt = attempt
            self.ech = ech
        }
    }

    private let loop: any EventLoop
    private let target: DialTarget
    private let settings: DialSettings
    private let endpoints: [Endpoint]
    private let services: [Endpoint: EndpointService]
    private let earlier: [Attempt]
    private let begin: NIODeadline
    private let deadline: NIODeadline?
    private let ended: (Attempt) -> Void
    private let done: (Result<RaceResult, DirectHTTPError>) -> Void
    private var plan: RacePlan
    private var candidates: [Candidate] = []
    private var timer: Scheduled<Void>?
    private var limit: Scheduled<Void>?
    private var isOver = false
    /// The error of the last proxy that refused with a response.
    private var refusal: DirectHTTPError?

    /// - Parameters:
    ///   - earlier: the attempts of earlier races for the same connection. They are part of the result and of the errors.
    ///   - services: the data of HTTPS records for some of the endpoints.
    ///   - ended: called on the loop for each attempt as soon as its outcome is known, and before `done`.
    ///   - done: called once, on the loop.
    init(
        on loop: any EventLoop,
        to endpoints: [Endpoint],
        of target: DialTarget,
        after earlier: [Attempt],
        settings: DialSettings,
        deadline: NIODeadline?,
        services: [Endpoint: EndpointService] = [:],
        ended: @escaping (Attempt) -> Void,
        done: @escaping (Result<RaceResult, DirectHTTPError>) -> Void
    ) {
        self.loop = loop
        self.target = target
        self.settings = settings
        self.earlier = earlier
        self.services = services
        self.endpoints = Array(endpoints.prefix(max(0, settings.maxAttempts)))
        self.ended = ended
        self.done = done
        begin = loop.now
        self.deadline = deadline
        var handshakeStagger = TimeAmount(limit: settings.handshakeStagger)
        // A short limit must leave time for a second endpoint.
        if let deadline { handshakeStagger = min(handshakeStagger, .nanoseconds((deadline - begin).nanoseconds / 2)) }
        plan = RacePlan(
            count: self.endpoints.count,
            limit: settings.maxConcurrentAttempts,
            stagger: TimeAmount(limit: settings.stagger),
            handshakeStagger: handshakeStagger
        )
    }

    package func start() {
        if let deadline {
            // Dial no endpoint, so that none counts as failed.
            guard deadline > loop.now else {
                return end(with: .connectTimeout, "no time was left to connect to \(target.key.origin)")
            }
            limit = loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in expire() }
        }
        perform(plan.handle(.start, now: loop.now))
    }

    /// Ends the race because its time is over, with code `connectTimeout`, unless it has ended.
    package func expire() { end(with: .connectTimeout, "no connection to \(place) in time") }

    /// Ends the race with code `cancelled`, unless it has ended.
    package func cancel() { end(with: .cancelled, "connecting to \(target.key.origin) was cancelled") }

    private func send(_ event: RacePlan.Event) {
        guard !isOver else { return }
        perform(plan.handle(event, now: loop.now))
    }

    private func perform(_ actions: [RacePlan.Action]) {
        for action in actions {
            // The previous action may have ended the race. A timer set now would keep everything in memory until it fires.
            guard !isOver else { return }
            switch action {
            case .dial(let index): dial(index)
            case .drop(let index): drop(index)
            case .handshake(let index): handshake(index)
            case .wake(let instant):
                timer?.cancel()
                timer = loop.assumeIsolated().scheduleTask(deadline: instant) { [self] in send(.timer) }
            case .giveUp: giveUp()
            }
        }
    }

    // MARK: Steps

    private func dial(_ index: Int) {
        let endpoint = endpoints[index]
        var attempt = Attempt(endpoint: endpoint, outcome: .abandoned, start: elapsed)
        attempt.socketPath = target.key.route.socketPath
        let candidate = Candidate(
            attempt,
            target.echPlan(for: services.isEmpty ? nil : services[endpoint], now: loop.now)
        )
        candidates.append(candidate)
        connect(index) { [self] in
            candidate.attempt.connect = elapsed - candidate.attempt.start
            send(.connected(index))
        }
    }

    private func connect(_ index: Int, then next: @escaping () -> Void) {
        let binding = LocalBinding(settings: settings)
        let (endpoint, route) = (endpoints[index], target.key.route)
        let channel = binding.connect(to: endpoint, route: route, on: loop) { [self] channel in
            guard isUnderWay(index) else { return channel.close(promise: nil) }
            // Store it before it connects: the end of the race closes it, or the kernel would retry for minutes.
            candidates[index].channel = channel
        }
        channel.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel):
                guard isUnderWay(index) else { return channel.close(promise: nil) }
                next()
            case .failure(let error):
                let why = binding.explain(error, to: endpoint, route: route)
                failed(index, with: DirectHTTPError(.connectFailed, why, underlyingError: error))
            }
        }
    }

    private func handshake(_ index: Int) {
        let candidate = candidates[index]
        guard let channel = candidate.channel else { return }
        candidate.handshakeStart = candidate.handshakeStart ?? loop.now
        Handshake(on: channel, to: target, isAnswering: candidate.isAnswering, ech: candidate.ech) { [self] result in
            switch result {
            case .success(let secured):
                guard isUnderWay(index) else { return }
                win(index, secured)
            case .failure(let error):
                failed(index, with: error)
            }
        }.next()
    }

    private func failed(_ index: Int, with error: DirectHTTPError) {
        let candidate = candidates[index]
        guard isUnderWay(index) else { return }
        if error.isChallenge, !candidate.isAnswering {
            candidate.isAnswering = true
            return reconnect(index)
        }
        var error = error
        if let rejection = error.echRejection {
            switch candidate.ech.handle(rejection) {
            case .retry: return reconnect(index)
            case .turnOff:
                if let list = candidate.ech.list {
                    let (origin, name) = (target.key.origin, rejection.publicName)
                    target.ech.withLockedValue { $0.turnOff(origin, list: list, publicName: name, now: loop.now) }
                }
                return reconnect(index)
            case .fail(let reason): error.message = reason
            }
        }
        if error.response != nil { refusal = error }
        close(candidate, for: .failed(error.code, error.message))
        send(.failed(index))
    }

    /// Ends an attempt that has had its time, to make room for the next.
    private func drop(_ index: Int) {
        close(candidates[index], for: .failed(.connectTimeout, silence(of: candidates[index])))
    }

    private func close(_ candidate: Candidate, for outcome: Attempt.Outcome) {
        candidate.attempt.outcome = outcome
        ended(candidate.attempt)
        candidate.channel?.closeTransport()
        candidate.channel = nil
    }

    private func isUnderWay(_ index: Int) -> Bool { !isOver && candidates[index].attempt.outcome == .abandoned }

    /// The part of connecting that has taken too long.
    private func silence(of candidate: Candidate) -> String {
        let reason = candidate.attempt.connect == nil ? "did not answer" : "did not finish the handshake"
        guard candidate.handshakeStart != nil, let name = candidate.ech.offeredName else { return reason }
        return reason + ", with ECH for the public name \(name)"
    }

    /// Connects to the same endpoint again, because it answered the handshake with a request to do so.
    private func reconnect(_ index: Int) {
        let candidate = candidates[index]
        candidate.channel?.closeTransport()
        candidate.channel = nil
        connect(index) { [self] in handshake(index) }
    }

    // MARK: Ends

    private func win(_ index: Int, _ secured: Handshake.HandshakeResult) {
        let candidate = candidates[index]
        guard let channel = candidate.channel else { return }
        candidate.attempt.outcome = .connected
        // Without TLS and without a proxy's steps, a connection has no handshake.
        if !target.steps.isEmpty {
            candidate.attempt.handshake = candidate.handshakeStart.map { Duration(loop.now - $0) }
        }
        ended(candidate.attempt)
        candidate.channel = nil
        for other in candidates { other.attempt.lose(to: candidate.attempt, stagger: settings.stagger) }
        finish(
            .success(
                RaceResult(
                    channel: channel,
                    secured: secured,
                    attempts: attempts,
                    winner: candidate.attempt
                )
            )
        )
    }

    private func giveUp() {
        let attempts = attempts
        let codes = attempts.compactMap { if case .failed(let code, _) = $0.outcome { code } else { nil } }
        // The most specific failure determines the code: a wrong certificate explains more than a refused connection.
        let code =
            [
                .pinMismatch, .certificateRejected, .echFailed, .tlsFailed, .proxyRefused, .malformedResponse,
                .connectTimeout,
            ].first(where: codes.contains) ?? .connectFailed
        let list = attempts.map(\.description).joined(separator: "; ")
        // The reason of a refusal names the proxy.
        let place = code == .proxyRefused ? "\(target.key.origin)" : self.place
        let message = "cannot connect to \(place): \(list)\(remedy)"
        var error = DirectHTTPError(code, message, attempts: attempts)
        if code == .proxyRefused, let refusal {
            (error.response, error.hasBrokenBody) = (refusal.response, refusal.hasBrokenBody)
        }
        finish(.failure(error))
    }

    private func end(with code: DirectHTTPError.Code, _ message: String) {
        guard !isOver else { return }
        if code == .connectTimeout {
            // Do not count an endpoint as failed if it had less time than the stagger: the limit was too short.
            let elapsed = elapsed
            for candidate in candidates
            where candidate.attempt.outcome == .abandoned && elapsed - candidate.attempt.start >= settings.stagger {
                candidate.attempt.outcome = .failed(.connectTimeout, silence(of: candidate))
                ended(candidate.attempt)
            }
        }
        let attempts = attempts
        let list = attempts.isEmpty ? "" : ": " + attempts.map(\.description).joined(separator: "; ")
        finish(.failure(DirectHTTPError(code, message + list + remedy, attempts: attempts)))
    }

    /// The origin for a message, and the proxy whose endpoints the message lists.
    private var place: String {
        let origin = target.key.origin
        guard let proxy = target.key.route.proxy else { return "\(origin)" }
        // The endpoints are those of the first proxy. A request that the proxy forwards has the proxy as its origin here.
        let first = "the proxy \(proxy.preproxy ?? proxy)"
        return target.key.forwarder == nil ? "\(origin) through \(first)" : first
    }

    /// The setting that may help if handshakes with ECH failed.
    private var remedy: String {
        let hasFailed = candidates.contains { candidate in
            guard case .failed(let code, _) = candidate.attempt.outcome, candidate.handshakeStart != nil else {
                return false
            }
            return candidate.ech.offeredName != nil && [.tlsFailed, .echFailed, .connectTimeout].contains(code)
        }
        return hasFailed ? "; \(ECHRemedy.turnOff.rawValue)" : ""
    }

    private func finish(_ result: Result<RaceResult, DirectHTTPError>) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        limit?.cancel()
        for candidate in candidates {
            candidate.channel?.closeTransport()
            if candidate.attempt.outcome == .abandoned { ended(candidate.attempt) }
        }
        done(result)
    }

    private var attempts: [Attempt] { earlier + candidates.map(\.attempt) }

    private var elapsed: Duration { Duration(loop.now - begin) }
}
