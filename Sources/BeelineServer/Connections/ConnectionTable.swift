// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Names

/// The open connections of a server, within its limits.
final class ConnectionTable: Sendable {
    private struct Connection {
        let channel: any Channel
        /// The client that it counts for. Nil for a trusted proxy, which has many, and until a PROXY header has arrived.
        var client: IPAddress?
    }

    private struct State {
        var counts = ConnectionCounts()
        var open: [ObjectIdentifier: Connection] = [:]
        var isClosed = false
    }

    private let maxConnections: Int
    private let maxOfClient: Int
    private let announcing: [IPNetwork]
    private let trusted: [IPNetwork]
    private let headerLimit: TimeAmount
    private let state = NIOLockedValueBox(State())

    /// The maximum size of a read, in bytes: some hundred pipelined requests.
    private static let maxRead = 16_384
    private static let tooMany = ServerError(.cannotListen, "more connections than allowed")

    /// - Parameters:
    ///   - allowed: The maximum number of connections, reduced to fit the descriptor limit.
    ///   - clientLimit: The maximum number of connections of one client.
    ///   - announcing: The proxies that start each connection with a PROXY header.
    ///   - trusted: The proxies whose connections carry many clients.
    ///   - headerLimit: The time for a PROXY header.
    init(
        allowed: Int,
        clientLimit: Int,
        announcing: [IPNetwork],
        trusted: [IPNetwork] = [],
        headerLimit: Duration
    ) {
        maxConnections = Self.limit(allowed: allowed, descriptors: DescriptorLimit.current)
        maxOfClient = clientLimit
        self.announcing = announcing
        self.trusted = trusted
        self.headerLimit = TimeAmount(limit: headerLimit)
    }

    /// The maximum number of connections: `allowed`, or as many as leave descriptors for upstreams and files.
    static func limit(allowed: Int, descriptors: Int?) -> Int {
        guard let descriptors else { return allowed }
        return min(allowed, max(1, descriptors - DescriptorLimit.reserve(of: descriptors)))
    }

    var counts: ConnectionCounts { state.withLockedValue { $0.counts } }
    var channels: [any Channel] { state.withLockedValue { $0.open.values.map(\.channel) } }
    var isClosed: Bool { state.withLockedValue { $0.isClosed } }

    /// Refuses further connections.
    func close() { state.withLockedValue { $0.isClosed = true } }

    /// Closes all connections. They close concurrently: TLS waits up to a second for a client that is gone.
    func closeAll() async {
        let closes = channels.map { $0.close() }
        for close in closes { try? await close.get() }
    }

    /// A bootstrap of a socket whose connections are added here.
    ///
    /// - Parameter addHandlers: Called for each connection, at once or after its PROXY header.
    func bootstrap(
        backlog: Int32,
        addHandlers: @escaping @Sendable (any Channel, ConnectionEnds) throws -> Void
    ) -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // A reply of several packets must not wait for the acknowledgement of the first packet.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // The requests of one read are handled in one turn of the event loop, and other connections wait meanwhile.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 2_048, maximum: Self.maxRead)
            )
            .childChannelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture { try accept(channel, addHandlers: addHandlers) }
            }
    }

    /// Adds a connection, or throws if the server or the client has too many. Runs on the channel's event loop.
    private func accept(
        _ channel: any Channel,
        addHandlers: @escaping (any Channel, ConnectionEnds) throws -> Void
    ) throws {
        let ends = ConnectionEnds(channel, trusting: trusted)
        let announcesClient = announcing.contains { $0.contains(ends.peer) }
        let id = ObjectIdentifier(channel)
        guard add(Connection(channel: channel, client: announcesClient ? nil : ends.countedClient), id) else {
            throw Self.tooMany
        }
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in remove(id) }
        guard announcesClient else { return try addHandlers(channel, ends) }
        let handler = ProxyHeaderHandler(limit: headerLimit) { [self] header, channel in
            let ends = ends.reported(by: header, trusting: trusted)
            if header.ends != nil, let client = ends.countedClient, !identify(client, of: id) { throw Self.tooMany }
            try addHandlers(channel, ends)
        }
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func add(_ connection: Connection, _ id: ObjectIdentifier) -> Bool {
        state.withLockedValue { state in
            guard !state.isClosed else {
                state.counts.refuse()
                return false
            }
            let isAllowed = state.counts.add(connection.client, limit: maxConnections, clientLimit: maxOfClient)
            if isAllowed { state.open[id] = connection }
            return isAllowed
        }
    }

    private func identify(_ client: IPAddress, of id: ObjectIdentifier) -> Bool {
        state.withLockedValue { state in
            guard state.open[id] != nil, state.counts.identify(client, limit: maxOfClient) else { return false }
            state.open[id]?.client = client
            return true
        }
    }

    private func remove(_ id: ObjectIdentifier) {
        state.withLockedValue { state in
            if let connection = state.open.removeValue(forKey: id) { state.counts.remove(connection.client) }
        }
    }
}
