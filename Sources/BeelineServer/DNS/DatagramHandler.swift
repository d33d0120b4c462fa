// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Answers the datagrams of one UDP socket.
final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let service: DNSService

    /// The largest query to read, in octets. Larger ones are cut, so that they are malformed.
    static let maxQuery = 2_048
    /// The datagrams that one system call reads.
    static let batch = 32

    init(_ service: DNSService) {
        self.service = service
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let peer = envelope.remoteAddress
        // A reply to port 0 goes nowhere; a forged source could use it to make trouble.
        guard let port = peer.port, port > 0, let client = IPAddress(peer) else { return }
        let handling = service.handle(Array(envelope.data.readableBytesView), from: client, .udp, now: .now())
        switch handling {
        case .silence: return
        case .reply(let octets): write(octets, to: envelope, context: context)
        case .later(let wait):
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let place = NIOLoopBound(context, eventLoop: context.eventLoop)
            let loop = context.eventLoop
            _ = ServerService.task(on: loop) { [service] in
                let octets = await wait()
                loop.execute {
                    bound.value.write(octets, to: envelope, context: place.value)
                    place.value.flush()
                    service.ended()
                }
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

    /// Sends a reply. If the socket cannot take it, the reply is lost, as any datagram may be: replies that wait would take
    /// memory without bound.
    private func write(_ octets: [UInt8], to query: AddressedEnvelope<ByteBuffer>, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        // The replies to the queries of one read may exceed the buffer.
        if !context.channel.isWritable { context.flush() }
        guard context.channel.isWritable else { return service.dropped() }
        let buffer = context.channel.allocator.buffer(bytes: octets)
        let reply = AddressedEnvelope(remoteAddress: query.remoteAddress, data: buffer)
        context.write(wrapOutboundOut(reply), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // An ICMP error of a client that is gone. The socket stays open.
    }
}

extension IPAddress {
    /// The address of a socket address; nil for a Unix domain socket. Does not format it as text.
    init?(_ address: SocketAddress) {
        let found: IPAddress? = address.withSockAddr { pointer, _ in IPAddress(pointer) }
        guard let found else { return nil }
        self = found.unmapped
    }
}
