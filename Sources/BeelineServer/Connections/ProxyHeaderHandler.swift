// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Reads the PROXY header of a connection, then leaves the pipeline. Without a header in time, closes the connection.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: TimeAmount
    private let onHeader: (ProxyHeader, any Channel) throws -> Void
    private var received = ByteBuffer()
    private var timer: Scheduled<Void>?
    private var isDone = false

    /// - Parameters:
    ///   - limit: The time for the header.
    ///   - onHeader: Adds the handlers of the connection. If it throws, the connection is closed.
    init(limit: TimeAmount, onHeader: @escaping (ProxyHeader, any Channel) throws -> Void) {
        self.limit = limit
        self.onHeader = onHeader
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return context.fireChannelRead(data) }
        var part = unwrapInboundIn(data)
        received.writeBuffer(&part)
        do {
            guard let (header, length) = try ProxyHeader.read(received.readableBytesView) else { return }
            isDone = true
            timer?.cancel()
            received.moveReaderIndex(forwardBy: length)
            try onHeader(header, context.channel)
        } catch {
            isDone = true
            return context.close(promise: nil)
        }
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        received = ByteBuffer()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
