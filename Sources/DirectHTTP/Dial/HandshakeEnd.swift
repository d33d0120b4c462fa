// SPDX-License-Identifier: Apache-2.0

package import NIOCore

#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// The last segment of a TCP handshake (RFC 9293 §3.5), which Linux sends by itself though in HTTP and TLS the client's first
/// bytes follow at once. Held back, it goes with them: one segment less, and the server is not woken for a connection that
/// has nothing to say yet. To the client the connection stands meanwhile; the kernel waits for 200 ms at the most.
package enum HandshakeEnd {
    /// Holds the segment back, where the system can do that. On the event loop, before the socket connects.
    package static func holdBack(on channel: any Channel) { setQuickAcknowledgement(on: channel, to: 0) }

    /// Sends the segment where it is still held back: the other side may be the one to speak first. On the event loop.
    package static func send(on channel: any Channel) { setQuickAcknowledgement(on: channel, to: 1) }

    private static func setQuickAcknowledgement(on channel: any Channel, to value: SocketOptionValue) {
        #if os(Linux)
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_QUICKACK))
        try? channel.syncOptions?.setOption(option, value: value)
        #endif
    }
}
