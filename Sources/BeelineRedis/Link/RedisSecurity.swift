// SPDX-License-Identifier: Apache-2.0

#if Redis
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Names

import LibC

/// TLS for connections of hiredis.
///
/// The hiredis of Debian 12 is built without TLS. So swift-nio-ssl keeps the secured connection to the server, and
/// hiredis gets one end of a local socket pair. Octets pass between both on one event loop.
final class RedisSecurity: Sendable {
    /// The maximum time that a closed connection waits for a silent server to close it too.
    private static let closingTime = TimeAmount.seconds(1)

    private let settings: RedisTLS
    /// The context, made at the first connection.
    private let context = NIOLockedValueBox<NIOSSLContext?>(nil)

    init(_ settings: RedisTLS) { self.settings = settings }

    /// Connects to a server, verifies its certificate for the host, and returns the descriptor of the plain end.
    /// Blocks.
    ///
    /// - Parameter limit: The time limit for the TCP connection, and again for the handshake.
    func connect(to address: IPAddress, _ host: RedisHost, within limit: Duration) throws(RedisFault) -> Int32 {
        let context: NIOSSLContext
        do {
            context = try makeContext()
        } catch {
            throw RedisFault(reason: (error as? RedisError)?.message ?? "TLS: \(String(printable: "\(error)".utf8))")
        }
        var ends: [Int32] = [-1, -1]
        #if canImport(Darwin)
        let type = SOCK_STREAM
        #else
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #endif
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw RedisFault(reason: "no socket pair: \(String(cString: strerror(errno)))")
        }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        do {
            // A certificate for an address is checked against the address of the connection.
            let name = IPAddress(host.name) == nil ? host.name : nil
            let (outer, inner) = TunnelHandler.pair()
            let done = loop.makePromise(of: Void.self)
            let remote = try ClientBootstrap(group: loop)
                .connectTimeout(TimeAmount(limit))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers([
                            NIOSSLClientHandler(context: context, serverHostname: name), HandshakeWaiter(done), outer,
                        ])
                    }
                }
                .connect(to: SocketAddress(ipAddress: address.description, port: Int(host.port)))
                .flatMapErrorThrowing { error in
                    done.fail(error)
                    throw error
                }
                .wait()
            let alarm = loop.scheduleTask(in: TimeAmount(limit)) {
                // Ends the wait at once. Closing alone would first wait for a reply of the silent server.
                remote.pipeline.fireErrorCaught(RedisFault(reason: "no handshake within \(limit)"))
            }
            defer { alarm.cancel() }
            try done.futureResult.wait()
            let near = ends[0]
            // Owned by the channel from now on.
            ends[0] = -1
            _ = try ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(inner) }
                }
                .withConnectedSocket(near)
                .flatMapErrorThrowing { error in
                    remote.close(promise: nil)
                    throw error
                }
                .wait()
            return ends[1]
        } catch {
            for end in ends where end >= 0 { close(end) }
            throw RedisFault(reason: "TLS with \(host): \(String(printable: Self.words(for: error).utf8))")
        }
    }

    /// The words for an error, without the names of Swift types.
    private static func words(for error: any Error) -> String {
        if let fault = error as? RedisFault { return fault.reason }
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        if let error = error as? ChannelError {
            switch error {
            case .eof: return "the server closed the connection"
            case .connectTimeout: return "the server did not accept the connection in time"
            default: break
            }
        }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return "the certificate is for another name"
        }
        // NIOSSL provides BoringSSL's reason only as text.
        let text = "\(error)"
        if text.contains("EOF during handshake") {
            return "the server closed the connection; it may not use TLS on this port"
        }
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return "the certificate's issuer is not trusted, or it is not valid now"
        }
        return text.contains("WRONG_VERSION_NUMBER") ? "the server does not use TLS on this port" : text
    }

    private func makeContext() throws -> NIOSSLContext {
        if let known = context.withLockedValue({ $0 }) { return known }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let authorities = try settings.authorities() { configuration.trustRoots = .certificates(authorities) }
        configuration.shutdownTimeout = Self.closingTime
        let made = try NIOSSLContext(configuration: configuration)
        context.withLockedValue { $0 = made }
        return made
    }
}

extension RedisTLS {
    /// The maximum size of ``authorityFile`` in octets.
    private static let maxOctets = 4 << 20

    /// Reads the certificates of ``authorityFile``. Nil without one.
    ///
    /// - Throws: ``RedisError`` with code `badSecret`, the file and the reason.
    func authorities() throws(RedisError) -> [NIOSSLCertificate]? {
        guard let path = authorityFile else { return nil }
        let octets = try SecretFile.read(
            path,
            "authority",
            code: .badSecret,
            isSecret: false,
            maxOctets: Self.maxOctets
        )
        let certificates = (try? NIOSSLCertificate.fromPEMBytes(octets)) ?? []
        guard !certificates.isEmpty else {
            throw RedisError(.badSecret, "the authority file \(path) has no certificate in PEM form")
        }
        return certificates
    }
}

/// Completes a promise when the handshake has ended.
private final class HandshakeWaiter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private var promise: EventLoopPromise<Void>?

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted = event as? TLSUserEvent { end { $0.succeed() } }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end { $0.fail(error) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end { $0.fail(ChannelError.eof) }
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end { $0.fail(ChannelError.eof) } }

    private func end(_ body: (EventLoopPromise<Void>) -> Void) {
        guard let promise else { return }
        self.promise = nil
        body(promise)
    }
}

/// Passes octets to the partner's channel, and reads no faster than the partner writes. Unchecked, because both
/// channels have the same event loop, and only this loop uses the handlers.
private final class TunnelHandler: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private weak var partner: TunnelHandler?
    private var context: ChannelHandlerContext?
    private var wantsRead = false

    static func pair() -> (TunnelHandler, TunnelHandler) {
        let (one, two) = (TunnelHandler(), TunnelHandler())
        (one.partner, two.partner) = (two, one)
        return (one, two)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // The other side may have waited for this one.
        partner?.resumeReading()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner?.context?.write(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }

    func channelInactive(context: ChannelHandlerContext) { partner?.context?.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.resumeReading() }
    }

    func read(context: ChannelHandlerContext) {
        // The handshake reads before the partner has a channel, and passes no octets on.
        guard partner?.context?.channel.isWritable ?? true else {
            wantsRead = true
            return
        }
        context.read()
    }

    private func resumeReading() {
        guard wantsRead else { return }
        wantsRead = false
        context?.read()
    }
}
#endif
