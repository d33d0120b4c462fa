// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import Names

/// Opens the sockets of a ``DNSServer``: UDP, TCP and TLS.
final class DNSListeners: Sendable {
    private let configuration: DNSServerConfiguration
    private let service: DNSService
    /// The certificate of new connections.
    let certificate: ServerCertificate
    private let listening = NIOLockedValueBox<[any Channel]>([])
    /// The UDP sockets of each endpoint of the configuration.
    let datagrams: [DatagramSockets]

    /// The maximum number of ports to try if the system chooses one that is in use for UDP.
    private static let maxTries = 16

    init(_ configuration: DNSServerConfiguration, _ service: DNSService) throws(ServerError) {
        self.configuration = configuration
        self.service = service
        datagrams = configuration.listen.map { _ in DatagramSockets(service) }
        guard !configuration.listen.isEmpty else {
            throw ServerError(.cannotListen, "a DNS server needs at least one endpoint to listen on")
        }
        guard configuration.listenTLS.isEmpty || configuration.tls != nil else {
            throw ServerError(.badCertificate, "DNS over TLS needs a certificate and its key")
        }
        let files = configuration.listenTLS.isEmpty ? nil : configuration.tls
        certificate = try ServerCertificate(files, protocols: ["dot"])
    }

    // MARK: Listening

    var isListening: Bool { listening.withLockedValue { !$0.isEmpty } }

    /// Starts to listen. Returns the endpoints of UDP and TCP, and of TLS.
    func start() async throws(ServerError) -> (plain: [Endpoint], tls: [Endpoint]) {
        var place = configuration.listen[0]
        do {
            var (plain, encrypted): ([Endpoint], [Endpoint]) = ([], [])
            for (endpoint, sockets) in zip(configuration.listen, datagrams) {
                place = endpoint
                plain.append(try await startPlain(endpoint, sockets))
            }
            for endpoint in configuration.listenTLS {
                place = endpoint
                encrypted.append(try Self.endpoint(of: try await listen(endpoint, .tls)))
            }
            // `stop` may have run meanwhile.
            guard !service.isDraining else { throw ServerError(.cannotListen, "the server was stopped") }
            return (plain, encrypted)
        } catch {
            await close()
            // A socket that was already open may have accepted connections.
            await service.connections.closeAll()
            throw error as? ServerError ?? ServerError(.cannotListen, ListenFailure.explain(error, at: place))
        }
    }

    private func startPlain(_ wanted: Endpoint, _ sockets: DatagramSockets) async throws -> Endpoint {
        var tries = 0
        while true {
            tries += 1
            let channel = try await listen(wanted, .tcp)
            let endpoint = try Self.endpoint(of: channel)
            do {
                try await sockets.start(on: SocketAddress(endpoint))
                return endpoint
            } catch  where wanted.port == 0 && tries < Self.maxTries {
                // The port that the system chose for TCP is in use for UDP.
                listening.withLockedValue { $0.removeAll { $0 === channel } }
                try? await channel.close().get()
                await sockets.close()
            }
        }
    }

    private func listen(_ endpoint: Endpoint, _ transport: DNSService.Transport) async throws -> any Channel {
        let bootstrap = service.connections.bootstrap(backlog: 256) { [self] channel, ends in
            try addHandlers(to: channel, client: ends.peer, transport)
        }
        let channel = try await bootstrap.bind(to: SocketAddress(endpoint)).get()
        listening.withLockedValue { $0.append(channel) }
        return channel
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
        for sockets in datagrams { await sockets.close() }
    }

    // MARK: Connections

    private func addHandlers(to channel: any Channel, client: IPAddress, _ transport: DNSService.Transport) throws {
        let pipeline = channel.pipeline.syncOperations
        if transport == .tls, let context = certificate.context {
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
        }
        try pipeline.addHandler(StreamHandler(service, client: client, transport))
    }

    // MARK: Stopping

    /// Stops accepting connections, waits until the pending answers are sent, and closes everything.
    func stop() async {
        service.drain()
        let end = ContinuousClock.now + configuration.drainTime
        let channels = service.connections.channels
        for channel in channels {
            channel.eventLoop.execute {
                guard let handler = try? channel.pipeline.syncOperations.handler(type: StreamHandler.self) else {
                    return channel.close(promise: nil)
                }
                handler.finish(channel)
            }
        }
        await waitUncancelled(until: end) { [service] in service.waiting == 0 }
        await close()
        await waitUncancelled(until: end) { [service] in service.connections.counts.open == 0 }
        await service.connections.closeAll()
    }
}
