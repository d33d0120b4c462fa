// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
package import Names

/// A UDP server on loopback that answers each datagram with a closure.
package final class DatagramServer: Sendable {
    /// A datagram of the answer.
    package struct Reply: Sendable {
        /// The content.
        package var octets: [UInt8]
        /// Whether it is sent from another port, as a forger does.
        package var isFromElsewhere: Bool

        /// Creates a datagram.
        package init(_ octets: [UInt8], isFromElsewhere: Bool = false) {
            self.octets = octets
            self.isFromElsewhere = isFromElsewhere
        }
    }

    private let channel: any Channel
    private let elsewhere: any Channel

    private init(channel: any Channel, elsewhere: any Channel) {
        self.channel = channel
        self.elsewhere = elsewhere
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - endpoint: A loopback address. With port 0 the system chooses the port.
    ///   - answer: Returns the datagrams for one that was received, in order. Called on an event loop.
    package static func start(
        at endpoint: Endpoint,
        answer: @escaping @Sendable ([UInt8]) -> [Reply]
    ) async throws -> DatagramServer {
        let group = MultiThreadedEventLoopGroup.singleton
        let host = "\(endpoint.address)"
        let elsewhere = try await DatagramBootstrap(group: group).bind(host: host, port: 0).get()
        let channel = try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(answer: answer, elsewhere: elsewhere))
                }
            }
            .bind(host: host, port: Int(endpoint.port)).get()
        return DatagramServer(channel: channel, elsewhere: elsewhere)
    }

    /// Closes the sockets.
    package func stop() async {
        try? await channel.close()
        try? await elsewhere.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>
        typealias OutboundOut = AddressedEnvelope<ByteBuffer>

        private let answer: @Sendable ([UInt8]) -> [Reply]
        private let elsewhere: any Channel

        init(answer: @escaping @Sendable ([UInt8]) -> [Reply], elsewhere: any Channel) {
            self.answer = answer
            self.elsewhere = elsewhere
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            for reply in answer(Array(envelope.data.readableBytesView)) {
                let datagram = AddressedEnvelope(
                    remoteAddress: envelope.remoteAddress,
                    data: ByteBuffer(bytes: reply.octets)
                )
                if reply.isFromElsewhere {
                    elsewhere.writeAndFlush(datagram, promise: nil)
                } else {
                    context.writeAndFlush(wrapOutboundOut(datagram), promise: nil)
                }
            }
        }
    }
}
