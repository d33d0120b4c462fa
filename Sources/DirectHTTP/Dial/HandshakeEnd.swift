// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import NIOPosix

#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// The last segment of a TCP handshake (RFC 9293 §3.5), which Linux sends by itself though in HTTP and TLS the client's first
/// bytes follow at once. Held back, it goes with them: one segment less, and the server is not woken for a connection that
/// has nothing to say yet. To the client the connection stands meanwhile; the kernel waits for 200 ms at the most.
package enum HandshakeEnd {
    /// Holds the segment back on the sockets of a bootstrap, where the system can do that.
    package static func holdBack(in bootstrap: ClientBootstrap) -> ClientBootstrap {
        #if os(Linux)
        bootstrap.channelOption(quickAcknowledgement, value: 0)
        #else
        bootstrap
        #endif
    }

    /// Sends the segment where it is still held back: the other side may be the one to speak first. On the event loop.
    package static func send(on channel: any Channel) {
        #if os(Linux)
        try? channel.syncOptions?.setOption(quickAcknowledgement, value: 1)
        #endif
    }

    #if os(Linux)
    private static let quickAcknowledgement = ChannelOptions.Types.SocketOption(
        level: .tcp,
        name: NIOBSDSocket.Option(rawValue: TCP_QUICKACK)
    )
    #endif
}
