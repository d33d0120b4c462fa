// SPDX-License-Identifier: Apache-2.0

import Beeline
import DirectHTTP
import NIOCore
import NIOEmbedded

@testable import BeelineProxy

/// A client whose proxy has no sockets.
struct WireLab {
    /// Holds back what is written.
    final class Stopper: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isOpen = false
        /// Whether the channel stays open for a while after a close, as a TLS channel does.
        var delaysClose = false

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if !delaysClose { context.close(mode: mode, promise: promise) }
        }

        func flush(context: ChannelHandlerContext) { if isOpen { context.flush() } }
    }

    let channel = EmbeddedChannel()
    let stopper = Stopper()
    let wire: Wire
    let server: ProxyLoop
    let reader: RequestReader

    init(
        limits: ProxyLimits = ProxyLimits(),
        isActive: Bool = true,
        unacknowledgedBytes: @escaping (any Channel) -> Int? = { $0.unacknowledgedBytes }
    ) throws {
        var configuration = ProxyConfiguration()
        configuration.limits = limits
        var settings = ClientConfiguration()
        settings.upstreams = []
        settings.resolver.system = nil
        server = ProxyLoop(
            on: channel.eventLoop,
            client: try BeelineClient(settings),
            configuration: configuration,
            gateway: nil
        )
        wire = Wire(now: channel.eventLoop.now, unacknowledgedBytes: unacknowledgedBytes)
        reader = RequestReader(server, client: wire, refusal: nil)
        wire.owner = reader
        try channel.pipeline.syncOperations.addHandlers([stopper, wire])
        if isActive { try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait() }
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func sent() throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    func end() { _ = try? channel.finish(acceptAlreadyClosed: true) }
}
