// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import Names

/// Carries a ``RacePlan`` out on one event loop: sockets, handshakes and one timer. It ends exactly once and leaves no
/// socket behind but the winner's.
final class DialRace {
    /// What a race gives: a channel that is connected and secured, and what every attempt did.
    struct Won {
        var channel: any Channel
        var applicationProtocol: String
        var attempts: [Attempt]
        var winner: Attempt
    }

    private final class Lane {
        var attempt: Attempt
        var channel: (any Channel)?
        var handshakeStart: NIODeadline?
        var applicationProtocol = "http/1.1"

        init(_ attempt: Attempt) { self.attempt = attempt }
    }

    private let loop: any EventLoop
    private let target: DialTarget
    private let endpoints: [Endpoint]
    private let begin: NIODeadline
    private let done: (Result<Won, DirectHTTPError>) -> Void
    private var plan: RacePlan
    private var lanes: [Lane] = []
    private var timer: Scheduled<Void>?
    private var limit: Scheduled<Void>?
    private var isOver = false

    /// - Parameter done: called once, on the loop.
    init(
        on loop: any EventLoop,
        to endpoints: [Endpoint],
        of target: DialTarget,
        settings: DialSettings,
        done: @escaping (Result<Won, DirectHTTPError>) -> Void
    ) {
        self.loop = loop
        self.target = target
        self.endpoints = Array(endpoints.prefix(settings.maximumAttempts))
        self.done = done
        begin = loop.now
        plan = RacePlan(
            count: self.endpoints.count,
            stagger: TimeAmount(settings.stagger),
            patience: TimeAmount(settings.handshakePatience)
        )
    }

    func start(deadline: NIODeadline?) {
        if let deadline {
            limit = loop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                end(with: .connectTimeout, "no connection to \(target.key.origin) in time")
            }
        }
        perform(plan.handle(.start, now: loop.now))
    }

    func cancel() {
        end(with: .cancelled, "connecting to \(target.key.origin) was cancelled")
    }

    private func send(_ event: RacePlan.Event) {
        guard !isOver else { return }
        perform(plan.handle(event, now: loop.now))
    }

    private func perform(_ actions: [RacePlan.Action]) {
        for action in actions {
            switch action {
            case .dial(let lane): dial(lane)
            case .handshake(let lane): handshake(lane)
            case .wake(let instant):
                timer?.cancel()
                timer = loop.assumeIsolated().scheduleTask(deadline: instant) { [self] in send(.timer) }
            case .win(let lane): win(lane)
            case .giveUp: giveUp()
            }
        }
    }

    // MARK: Steps

    private func dial(_ index: Int) {
        let lane = Lane(Attempt(endpoint: endpoints[index], outcome: .abandoned, start: elapsed))
        lanes.append(lane)
        ClientBootstrap(group: loop)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: false)
            .connect(to: endpoints[index])
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel):
                    guard !isOver else { return channel.close(promise: nil) }
                    lane.channel = channel
                    lane.attempt.connect = elapsed - lane.attempt.start
                    send(.connected(index))
                case .failure(let error):
                    failed(index, DirectHTTPError(.connectFailed, Self.explain(error), underlyingError: error))
                }
            }
    }

    private func handshake(_ index: Int) {
        let lane = lanes[index]
        guard let channel = lane.channel else { return }
        lane.handshakeStart = loop.now
        guard case .proxy(let proxy) = target.key.route, target.key.origin.scheme.isSecure else {
            return secure(index)
        }
        let tunnel = ProxyTunnelHandler(to: target.key.origin, proxy: proxy) { [self] result in
            switch result {
            case .success: secure(index)
            case .failure(let error): failed(index, error)
            }
        }
        add([tunnel], to: channel, of: index)
    }

    private func secure(_ index: Int) {
        let lane = lanes[index]
        guard !isOver, let channel = lane.channel else { return }
        guard let tls = target.tls else { return send(.ready(index)) }
        do {
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: target.serverName)
            let waiter = HandshakeWaiter { [self] result in
                switch result {
                case .success(let negotiated):
                    guard isForName(channel) else {
                        return failed(
                            index,
                            DirectHTTPError(
                                .certificateRejected,
                                "showed a certificate for its address, not for the name"
                            )
                        )
                    }
                    lane.applicationProtocol = negotiated ?? "http/1.1"
                    send(.ready(index))
                case .failure(let error):
                    failed(index, error)
                }
            }
            add([handler, waiter], to: channel, of: index)
        } catch {
            failed(index, DirectHTTPError(.tlsFailed, "cannot be given a server name: \(error)"))
        }
    }

    /// The check that NIOSSL leaves open; see ``CertificateName``.
    private func isForName(_ channel: any Channel) -> Bool {
        guard target.key.tls.verifiesCertificate, let name = target.serverName else { return true }
        return CertificateName.isShown(by: channel, for: name)
    }

    private func add(_ handlers: [any ChannelHandler], to channel: any Channel, of index: Int) {
        do {
            try channel.pipeline.syncOperations.addHandlers(handlers)
        } catch {
            failed(index, DirectHTTPError(.connectFailed, "closed the connection at once", underlyingError: error))
        }
    }

    private func failed(_ index: Int, _ error: DirectHTTPError) {
        let lane = lanes[index]
        guard !isOver, lane.attempt.outcome == .abandoned else { return }
        lane.attempt.outcome = .failed(error.code, error.message)
        lane.channel?.close(promise: nil)
        lane.channel = nil
        send(.failed(index))
    }

    // MARK: Ends

    private func win(_ index: Int) {
        let lane = lanes[index]
        guard let channel = lane.channel else { return }
        lane.attempt.outcome = .connected
        lane.attempt.handshake = lane.handshakeStart.map { Duration(loop.now - $0) }
        lane.channel = nil
        finish(
            .success(
                Won(
                    channel: channel,
                    applicationProtocol: lane.applicationProtocol,
                    attempts: lanes.map(\.attempt),
                    winner: lane.attempt
                )
            )
        )
    }

    private func giveUp() {
        let attempts = lanes.map(\.attempt)
        let codes = attempts.compactMap { if case .failed(let code, _) = $0.outcome { code } else { nil } }
        // The most telling failure names the whole: a wrong certificate says more than a refused port beside it.
        let code =
            [.certificateRejected, .tlsFailed, .proxyRefused, .connectTimeout].first(where: codes.contains)
            ?? .connectFailed
        let list = attempts.map(\.description).joined(separator: "; ")
        finish(
            .failure(
                DirectHTTPError(code, "cannot connect to \(target.key.origin): \(list)", attempts: attempts)
            )
        )
    }

    private func end(with code: DirectHTTPError.Code, _ message: String) {
        guard !isOver else { return }
        if code == .connectTimeout {
            for lane in lanes where lane.attempt.outcome == .abandoned {
                lane.attempt.outcome = .failed(
                    .connectTimeout,
                    lane.attempt.connect == nil ? "did not answer" : "did not finish the handshake"
                )
            }
        }
        let attempts = lanes.map(\.attempt)
        let list = attempts.isEmpty ? "" : ": " + attempts.map(\.description).joined(separator: "; ")
        finish(.failure(DirectHTTPError(code, message + list, attempts: attempts)))
    }

    private func finish(_ result: Result<Won, DirectHTTPError>) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        limit?.cancel()
        for lane in lanes { lane.channel?.close(promise: nil) }
        done(result)
    }

    private var elapsed: Duration { Duration(loop.now - begin) }

    private static func explain(_ error: any Error) -> String {
        switch error {
        case let error as IOError where error.errnoCode == ECONNREFUSED: "refused the connection"
        case let error as IOError: "cannot be reached: \(error.description)"
        case ChannelError.connectTimeout: "did not answer"
        default: "cannot be reached: \(error)"
        }
    }
}

extension ClientBootstrap {
    /// Connects to an endpoint; no name is looked up. The race has its own limit, so the bootstrap's is out of the way.
    fileprivate func connect(to endpoint: Endpoint) -> EventLoopFuture<any Channel> {
        let timed = connectTimeout(.hours(1))
        do {
            let address = try SocketAddress(
                packedIPAddress: ByteBuffer(bytes: endpoint.address.octets),
                port: Int(endpoint.port)
            )
            return timed.connect(to: address)
        } catch {
            return timed.connect(host: "", port: -1)
        }
    }
}

extension Duration {
    init(_ amount: TimeAmount) { self = .nanoseconds(amount.nanoseconds) }
}
