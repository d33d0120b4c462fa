// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import Names

/// A connection for DNS messages (RFC 7766, RFC 7858). It is opened on demand, shared by concurrent queries, and
/// reopened after it was closed.
final class DNSStream: Sendable {
    /// The maximum number of pending queries. It exceeds the number that a resolver sends by default for both families.
    /// With a lower limit, one client with timeouts could block the upstream for all others.
    static let maxPending = 2_048
    /// How long an idle connection stays open.
    static let idleLimit = TimeAmount.seconds(10)
    /// How often a query is sent again.
    static let maxRetries = 8
    /// The time limit for TCP, and again for TLS: if more endpoints follow, and for the last endpoint.
    static let openLimits = (first: TimeAmount.seconds(1), last: TimeAmount.seconds(5))

    /// The endpoints to connect to.
    private struct Places {
        var endpoints: [Endpoint]
        /// The index of the endpoint to try first, which accepted the last connection.
        var first = 0

        /// The endpoints in the order to try them.
        var order: [Endpoint] { Array(endpoints[first...] + endpoints[..<first]) }
    }

    private let endpoints: [Endpoint]
    private let tls: (@Sendable () throws -> (NIOSSLContext, serverName: String?))?
    private let checkedHost: Host?
    private let silence: TimeAmount
    private let loop: any EventLoop
    /// The open or pending connection.
    private let connection = NIOLockedValueBox<EventLoopFuture<Link>?>(nil)
    private let places: NIOLockedValueBox<Places>
    /// The number of answers on all connections.
    private let answers = NIOLockedValueBox(0)
    private let clock: @Sendable () -> SleepWatch.Moment
    private let sleep: NIOLockedValueBox<SleepWatch>

    /// An open connection and its handler.
    private struct Link: Sendable {
        var channel: any Channel
        var handler: NIOLoopBound<DNSStreamHandler>
    }

    /// - Parameters:
    ///   - endpoints: The endpoints to connect to; after a failure the next is tried.
    ///   - tls: The TLS context and server name; nil: no TLS.
    ///   - checkedHost: The host that the certificate must be for; nil: only NIOSSL's own check.
    ///   - silence: Closes the connection when a query fails and nothing has arrived for this time.
    ///   - clock: Shows that the machine has slept. Its connections may have been lost meanwhile, and are closed.
    init(
        _ endpoints: [Endpoint],
        tls: (@Sendable () throws -> (NIOSSLContext, serverName: String?))? = nil,
        checkedHost: Host? = nil,
        silence: TimeAmount = .seconds(1),
        clock: @escaping @Sendable () -> SleepWatch.Moment = { SleepWatch.now }
    ) {
        self.clock = clock
        sleep = NIOLockedValueBox(SleepWatch(now: clock()))
        self.checkedHost = checkedHost
        self.silence = silence
        self.endpoints = endpoints
        places = NIOLockedValueBox(Places(endpoints: endpoints))
        self.tls = tls
        loop = MultiThreadedEventLoopGroup.singleton.next()
    }

    deinit {
        connection.withLockedValue { $0 }?.whenSuccess { $0.channel.close(promise: nil) }
    }

    /// Sends a query and returns the response with the same ID, which is chosen here.
    func ask(_ make: @escaping @Sendable (_ id: UInt16) -> [UInt8]) async throws(UpstreamError) -> [UInt8] {
        if sleep.withLockedValue({ $0.hasSlept(now: clock()) }) { close() }
        var retries = 0
        let answered = answers.withLockedValue { $0 }
        while true {
            let link = link()
            do {
                return try await exchange(make, over: link)
            } catch {
                // A kept connection may have closed while it was idle, so retry once over a new one. Some servers close
                // each connection after a number of answers, so go on if other queries were answered (RFC 7766 §6.2.4).
                let othersAreAnswered = answers.withLockedValue { $0 } != answered
                let mayRetry = retries == 0 || retries < Self.maxRetries && othersAreAnswered
                guard error.code == .unreachable, !Task.isCancelled, mayRetry else { throw error }
                retries += 1
                // The closed connection may still be stored, because its callers are notified first.
                forget(link)
            }
        }
    }

    private func exchange(
        _ make: @escaping @Sendable (UInt16) -> [UInt8],
        over link: EventLoopFuture<Link>
    ) async throws(UpstreamError) -> [UInt8] {
        let promise = loop.makePromise(of: [UInt8].self)
        link.whenComplete { result in
            switch result {
            case .success(let link): link.handler.value.ask(make, promise: promise)
            case .failure(let error): promise.fail(error)
            }
        }
        return try await promise.outcome()
    }

    /// Closes the connection. A pending connection is closed once it is open, and later queries do not use it.
    func close() {
        let old = connection.withLockedValue { known in
            defer { known = nil }
            return known
        }
        old?.whenSuccess { $0.channel.close(promise: nil) }
    }

    /// Closes the connection. The next one uses the new network.
    func networkChanged(to network: Network) {
        places.withLockedValue { $0 = Places(endpoints: network.reachable(endpoints)) }
        close()
    }

    private func link() -> EventLoopFuture<Link> {
        let (future, promise) = connection.withLockedValue {
            known -> (EventLoopFuture<Link>, EventLoopPromise<Link>?) in
            if let known { return (known, nil) }
            let promise = loop.makePromise(of: Link.self)
            known = promise.futureResult
            return (promise.futureResult, promise)
        }
        if let promise {
            connect(toFirstOf: places.withLockedValue { $0.order }[...], promise: promise)
        }
        return future
    }

    private func isCurrent(_ link: EventLoopFuture<Link>) -> Bool { connection.withLockedValue { $0 === link } }

    private func forget(_ link: EventLoopFuture<Link>) {
        connection.withLockedValue { if $0 === link { $0 = nil } }
    }

    /// Connects to the first endpoint that accepts.
    private func connect(toFirstOf rest: ArraySlice<Endpoint>, promise: EventLoopPromise<Link>) {
        guard let endpoint = rest.first else {
            forget(promise.futureResult)
            return promise.fail(UpstreamError(.unreachable, "no address to connect to"))
        }
        open(endpoint, within: rest.count > 1 ? Self.openLimits.first : Self.openLimits.last).whenComplete {
            [weak self] result in
            switch result {
            case .success(let link):
                self?.places.withLockedValue { places in
                    // The endpoints may have changed with the network.
                    places.first = places.endpoints.firstIndex(of: endpoint) ?? 0
                }
                link.channel.closeFuture.whenComplete { [weak self] _ in self?.forget(promise.futureResult) }
                promise.succeed(link)
            case .failure(let error):
                // After a network change the other endpoints are useless too; callers retry over a new connection.
                guard rest.count > 1, let self, self.isCurrent(promise.futureResult) else {
                    self?.forget(promise.futureResult)
                    return promise.fail(Self.upstreamError(error, at: endpoint))
                }
                self.connect(toFirstOf: rest.dropFirst(), promise: promise)
            }
        }
    }

    private func open(_ endpoint: Endpoint, within limit: TimeAmount) -> EventLoopFuture<Link> {
        let secured = loop.makePromise(of: Void.self)
        let (loop, tls, checkedHost, silence, answers) = (loop, tls, checkedHost, silence, answers)
        return ClientBootstrap(group: loop)
            .connectTimeout(limit)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let (context, name) = try tls?() {
                        try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: name))
                    }
                    try pipeline.addHandler(
                        DNSStreamHandler(secured: tls == nil ? nil : secured, silence: silence, answers: answers)
                    )
                }
            }
            .connect(host: endpoint.address.description, port: Int(endpoint.port))
            .flatMapThrowing { channel in
                let handler = try channel.pipeline.syncOperations.handler(type: DNSStreamHandler.self)
                return Link(channel: channel, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
            }
            .flatMap { link in
                if tls == nil { secured.succeed() }
                // A server may accept the connection and then send nothing.
                let timer = loop.scheduleTask(in: limit) {
                    secured.fail(UpstreamError(.timeLimit, "no TLS handshake with \(endpoint) in time"))
                    link.channel.close(promise: nil)
                }
                return secured.futureResult.always { _ in timer.cancel() }.flatMapThrowing {
                    if let checkedHost { try Self.check(link.channel, isFor: checkedHost) }
                    return link
                }
            }
            .flatMapErrorThrowing { error in
                secured.fail(error)
                throw error
            }
    }

    /// Checks the certificate against the host. NIOSSL also accepts a certificate for the dialled address; see
    /// ``CertificateName``.
    private static func check(_ channel: any Channel, isFor host: Host) throws {
        guard !CertificateName.isShown(by: channel, for: host) else { return }
        channel.close(promise: nil)
        throw NIOSSLExtraError.failedToValidateHostname
    }

    private static func words(for error: any Error) -> String {
        // NIO collects one error per address; there is only one address here.
        let cause = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        if let limit = cause as? ChannelError, case .connectTimeout = limit { return "it does not answer" }
        return (cause as? IOError).map { String.words(forError: $0.errnoCode) } ?? "\(cause)"
    }

    private static func upstreamError(_ error: any Error, at endpoint: Endpoint) -> UpstreamError {
        switch error {
        case let error as UpstreamError: error
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            UpstreamError(.untrusted, "\(endpoint) did not prove its identity: \(TLSFault.explain(error))")
        default: UpstreamError(.unreachable, "no connection to \(endpoint): \(words(for: error))")
        }
    }
}
