// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Answers the datagrams of one UDP socket.
final class DatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let service: DNSService

    /// The largest query to read, in octets. A larger one is cut, which makes it malformed.
    static let maxQuery = 2_048
    /// The maximum number of datagrams that one system call reads.
    static let batch = 32

    init(_ service: DNSService) {
        self.service = service
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let peer = envelope.remoteAddress
        // No client can receive a reply at port 0, so the source is forged.
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

    /// Sends a reply. If the socket cannot take it, the reply is dropped, as any datagram may be. Queued replies would
    /// take memory without bound.
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
        // An ICMP error, for example because a client has closed its socket. This socket stays open.
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
