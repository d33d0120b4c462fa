// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// A server on a Unix domain socket. It answers each request with the request's first two lines.
package struct UnixSocketServer {
    /// The path of the socket.
    package let path: String
    private let channel: any Channel

    /// Starts a server at a random path.
    package static func start() async throws -> UnixSocketServer {
        let path = "/tmp/beeline-\(UInt32.random(in: 0 ... .max)).sock"
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Answering()) }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        return UnixSocketServer(path: path, channel: channel)
    }

    /// Stops listening.
    package func stop() async throws { try await channel.close() }

    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data)).split(separator: "\r\n").prefix(2).joined(separator: " ")
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        }
    }
}
