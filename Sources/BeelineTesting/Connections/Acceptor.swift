// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Names

/// Sets up each accepted channel: counts it, does the TLS handshake if TLS is on, and yields its work.
struct Acceptor: Sendable {
    let settings: LoopbackListener.Settings
    let contexts: ServerTLSContexts?
    let tally = Watched(ConnectionTally())
    let registry = ChannelRegistry()
    let works: LoopbackListener.Works
    let serve: @Sendable (RawConnection) async throws -> Void

    var bootstrap: ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: settings.allowsHalfClosure && contexts == nil)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try accept(channel) }
            }
    }

    /// Must run on the channel's event loop.
    private func accept(_ channel: any Channel) throws {
        guard let local = Endpoint(channel.localAddress), let remote = Endpoint(channel.remoteAddress) else {
            throw TestingError(.badAddress, "a connection without addresses")
        }
        try channel.pipeline.syncOperations.addHandler(CutHandler())
        guard registry.add(channel) else {
            throw TestingError(.closed, "stopped, or more than \(ChannelRegistry.limit) connections")
        }
        let number = tally.update { tally in
            tally.accepted += 1
            tally.open += 1
            return tally.accepted
        }
        channel.closeFuture.whenComplete { _ in tally.update { $0.open -= 1 } }
        let info = ReceivedRequest.Connection(number: number, local: local, remote: remote)
        if let contexts {
            try startTLS(on: channel, info: info, contexts: contexts)
        } else {
            try handOut(channel, info)
        }
    }

    private func startTLS(on channel: any Channel, info: ReceivedRequest.Connection, contexts: ServerTLSContexts) throws
    {
        let pipeline = channel.pipeline.syncOperations
        // Read the ClientHello before the TLS handler does, to choose the certificate by server name and to record the name.
        let greeting = ByteToMessageHandler(
            SNIHandler { result in
                var info = info
                info.isSecure = true
                if case .hostname(let name) = result { info.serverName = name }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: contexts.context(for: info.serverName)))
                    try pipeline.addHandler(
                        HandshakeHandler { context, applicationProtocol in
                            info.applicationProtocol = applicationProtocol
                            try handOut(context.channel, info)
                        } onFailure: { error in
                            tally.update { tally in
                                tally.failedHandshakes += 1
                                tally.lastHandshakeFailure = "\(error)"
                            }
                        }
                    )
                }
            }
        )
        try pipeline.addHandler(greeting)
    }

    private func handOut(_ channel: any Channel, _ info: ReceivedRequest.Connection) throws {
        if info.applicationProtocol == "h2", let multiplex = settings.multiplex {
            return try multiplex(channel, info, works)
        }
        let inbox = Inbox<ByteBuffer>()
        try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
        let connection = RawConnection(info: info, channel: channel, inbox: inbox)
        works.yield(.init(channel: channel) { [serve] in try await serve(connection) })
    }
}
