// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
package import Names

extension RawConnection {
    /// The client TLS settings for ``RawConnection/connect(to:tls:within:)``.
    package struct ClientTLS: Sendable {
        /// The name to send as SNI and to check in the certificate. Nil sends no SNI and accepts any name.
        package var serverName: String?
        /// The authority that must have signed the server's certificate.
        package var authority: TestAuthority
        /// The protocols to offer by ALPN, best first.
        package var applicationProtocols: [String] = []
        /// The certificate for servers that request one.
        package var certificate: TestCertificate?

        /// Creates settings for a server whose certificate `authority` signed.
        package init(_ serverName: String?, trusting authority: TestAuthority) {
            self.serverName = serverName
            self.authority = authority
        }

        func handler() throws -> NIOSSLClientHandler {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = authority.trustRoots
            configuration.applicationProtocols = applicationProtocols
            configuration.minimumTLSVersion = .tlsv12
            configuration.shutdownTimeout = .seconds(1)
            if serverName == nil { configuration.certificateVerification = .noHostnameVerification }
            if let certificate {
                configuration.certificateChain = certificate.chain.map { .certificate($0) }
                configuration.privateKey = .privateKey(certificate.key)
            }
            return try NIOSSLClientHandler(
                context: NIOSSLContext(configuration: configuration),
                serverHostname: serverName
            )
        }
    }

    /// Opens a client connection that sends arbitrary bytes, to test a server.
    ///
    /// ```swift
    /// let connection = try await RawConnection.connect(to: proxy.endpoint)
    /// try await connection.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    /// let answer = try await connection.receive(until: "\r\n")
    /// await connection.close()
    /// ```
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to connect to.
    ///   - tls: The TLS settings; nil: no TLS. The handshake is complete when this returns.
    ///   - limit: The time limit for the TCP connection, and again for the handshake.
    /// - Throws: The error of the socket or of the handshake.
    package static func connect(
        to endpoint: Endpoint,
        tls: ClientTLS? = nil,
        within limit: Duration = .seconds(10)
    ) async throws -> RawConnection {
        let inbox = Inbox<ByteBuffer>()
        let opened = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: RawConnection.self)
        // Add all handlers before the socket connects: the server may send and close at once.
        let channel = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(limit))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // With half-closure, NIOSSL waits for its whole shutdown timeout when it closes first.
            .channelOption(.allowRemoteHalfClosure, value: tls == nil)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(CutHandler())
                    guard let tls else {
                        return try pipeline.addHandlers(OpeningHandler(opened, inbox), InboxHandler(inbox))
                    }
                    let handshake = HandshakeHandler { context, applicationProtocol in
                        opened.completeWith(
                            Result {
                                try wrap(
                                    context.channel,
                                    inbox: inbox,
                                    tls: tls,
                                    applicationProtocol: applicationProtocol
                                )
                            }
                        )
                    } onFailure: { error in
                        opened.fail(error)
                    }
                    try pipeline.addHandlers(tls.handler(), handshake, InboxHandler(inbox))
                }
            }
            .connect(host: "\(endpoint.address)", port: Int(endpoint.port))
        channel.whenFailure { opened.fail($0) }
        channel.whenSuccess { channel in
            let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
            opened.futureResult.whenComplete { _ in deadline.cancel() }
        }
        return try await opened.futureResult.get()
    }

    /// Must run on the channel's event loop.
    private static func wrap(
        _ channel: any Channel,
        inbox: Inbox<ByteBuffer>,
        tls: ClientTLS? = nil,
        applicationProtocol: String? = nil
    ) throws -> RawConnection {
        guard let local = Endpoint(channel.localAddress), let remote = Endpoint(channel.remoteAddress) else {
            throw TestingError(.closed, "the connection was closed at once")
        }
        var info = ReceivedRequest.Connection(number: 1, local: local, remote: remote)
        info.serverName = tls?.serverName
        info.applicationProtocol = applicationProtocol
        info.isSecure = tls != nil
        return RawConnection(info: info, channel: channel, inbox: inbox)
    }

    /// Delivers a connection without TLS when it becomes active.
    private final class OpeningHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let opened: EventLoopPromise<RawConnection>
        private let inbox: Inbox<ByteBuffer>

        init(_ opened: EventLoopPromise<RawConnection>, _ inbox: Inbox<ByteBuffer>) {
            self.opened = opened
            self.inbox = inbox
        }

        func channelActive(context: ChannelHandlerContext) {
            opened.completeWith(Result { try wrap(context.channel, inbox: inbox) })
            context.fireChannelActive()
        }
    }
}
