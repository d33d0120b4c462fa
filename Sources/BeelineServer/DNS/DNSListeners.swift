// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import Names

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Opens the sockets of a ``DNSServer``: UDP, TCP and TLS.
final class DNSListeners: Sendable {
    private let configuration: DNSServerConfiguration
    private let service: DNSService
    /// The TLS context for new connections. Nil without TLS.
    private let tls: NIOLockedValueBox<NIOSSLContext?>
    private let listening = NIOLockedValueBox<[any Channel]>([])
    private let open = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])

    /// The maximum number of UDP sockets, of which the system gives each a part of the clients.
    private static let maxSockets = 4
    /// The maximum number of ports to try if the system chooses one that is in use for UDP.
    private static let maxTries = 16

    init(_ configuration: DNSServerConfiguration, _ service: DNSService) throws(ServerError) {
        self.configuration = configuration
        self.service = service
        guard configuration.listenTLS == nil || configuration.tls != nil else {
            throw ServerError(.badCertificate, "DNS over TLS needs a certificate and its key")
        }
        tls = NIOLockedValueBox(try Self.context(configuration))
    }

    private static func context(_ configuration: DNSServerConfiguration) throws(ServerError) -> NIOSSLContext? {
        guard configuration.listenTLS != nil else { return nil }
        return try ServerListener.context(configuration.tls, protocols: ["dot"])
    }

    /// Reads the certificate and the key again. Pass the result to ``use(_:)``.
    func read() throws(ServerError) -> NIOSSLContext? { try Self.context(configuration) }

    /// Sets the TLS context for new connections.
    func use(_ context: NIOSSLContext?) { tls.withLockedValue { $0 = context } }

    // MARK: Listening

    /// Starts to listen. Returns the endpoints of UDP and TCP, and of TLS.
    func start() async throws(ServerError) -> (plain: Endpoint, tls: Endpoint?) {
        do {
            let plain = try await startPlain()
            var encrypted: Endpoint?
            if let endpoint = configuration.listenTLS {
                encrypted = try Self.endpoint(of: try await listen(endpoint, .tls))
            }
            // `stop` may have run meanwhile.
            guard !service.isDraining else { throw ServerError(.cannotListen, "the server was stopped") }
            return (plain, encrypted)
        } catch {
            await close()
            let place = "\(configuration.listen)\(configuration.listenTLS.map { " or \($0)" } ?? "")"
            throw error as? ServerError ?? ServerError(.cannotListen, "cannot listen on \(place): \(error)")
        }
    }

    private func startPlain() async throws -> Endpoint {
        var tries = 0
        while true {
            tries += 1
            let channel = try await listen(configuration.listen, .tcp)
            let endpoint = try Self.endpoint(of: channel)
            do {
                try await bindDatagrams(endpoint)
                return endpoint
            } catch  where configuration.listen.port == 0 && tries < Self.maxTries {
                // The port that the system chose for TCP is in use for UDP.
                await close()
            }
        }
    }

    private func listen(_ endpoint: Endpoint, _ transport: DNSService.Transport) async throws -> any Channel {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture { try accept(channel, transport) }
            }
            .bind(to: SocketAddress(endpoint)).get()
        listening.withLockedValue { $0.append(channel) }
        return channel
    }

    /// Binds one UDP socket for each event loop, or one where the system does not share a port among sockets.
    private func bindDatagrams(_ endpoint: Endpoint) async throws {
        #if os(Linux)
        let count = min(Self.maxSockets, max(1, System.coreCount))
        #else
        let count = 1
        #endif
        let isWildcard = endpoint.address.isUnspecified
        for _ in 0..<count {
            var bootstrap = DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
                .channelOption(.datagramVectorReadMessageCount, value: DatagramHandler.batch)
                .channelOption(
                    .recvAllocator,
                    value: FixedSizeRecvByteBufferAllocator(capacity: DatagramHandler.batch * DatagramHandler.maxQuery)
                )
                .channelInitializer { [service] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(DatagramHandler(service))
                    }
                }
            #if os(Linux)
            if count > 1 { bootstrap = bootstrap.channelOption(.socketOption(.init(rawValue: SO_REUSEPORT)), value: 1) }
            #endif
            // A machine with several addresses must reply from the one that was asked.
            if isWildcard { bootstrap = bootstrap.channelOption(.receivePacketInfo, value: true) }
            let channel = try await bootstrap.bind(to: SocketAddress(endpoint)).get()
            listening.withLockedValue { $0.append(channel) }
        }
    }

    private static func endpoint(of channel: any Channel) throws(ServerError) -> Endpoint {
        guard let endpoint = ConnectionEnds(channel, trusting: []).local else {
            throw ServerError(.cannotListen, "the socket has no IP address")
        }
        return endpoint
    }

    private func close() async {
        let channels = listening.withLockedValue { channels in
            defer { channels = [] }
            return channels
        }
        for channel in channels { try? await channel.close().get() }
    }

    // MARK: Connections

    /// Runs on the channel's event loop.
    private func accept(_ channel: any Channel, _ transport: DNSService.Transport) throws {
        let client = channel.remoteAddress.flatMap { IPAddress($0) } ?? IPAddress(v4: 0)
        let key = client.ofSubscriber
        guard service.opened(key) else { throw ServerError(.cannotListen, "more connections than allowed") }
        let id = ObjectIdentifier(channel)
        open.withLockedValue { $0[id] = channel }
        channel.closeFuture.whenComplete { [self] _ in
            open.withLockedValue { $0[id] = nil }
            service.closed(key)
        }
        let pipeline = channel.pipeline.syncOperations
        if transport == .tls, let context = tls.withLockedValue({ $0 }) {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
        try pipeline.addHandler(StreamHandler(service, client: client, transport))
    }

    // MARK: Stopping

    /// Stops accepting connections, waits until the pending answers have left and closes everything.
    func stop() async {
        service.drain()
        let end = ContinuousClock.now + configuration.drainTime
        let channels = open.withLockedValue { Array($0.values) }
        for channel in channels {
            channel.eventLoop.execute {
                guard let handler = try? channel.pipeline.syncOperations.handler(type: StreamHandler.self) else {
                    return channel.close(promise: nil)
                }
                handler.finish(channel)
            }
        }
        // In a separate task, because the calling one is usually cancelled, and then cannot sleep.
        await Task { [service] in
            while service.waiting > 0, ContinuousClock.now < end {
                try? await ContinuousClock().sleep(for: .milliseconds(10))
            }
        }.value
        await close()
        let closes = open.withLockedValue { $0.values.map { $0.close() } }
        for close in closes { try? await close.get() }
    }
}
