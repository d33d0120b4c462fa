// SPDX-License-Identifier: Apache-2.0

package import NIOCore

#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// Delays the last segment of a TCP handshake (RFC 9293 §3.5) so that it is sent together with the client's first bytes. Linux
/// sends it at once by default, although in HTTP and TLS the client's bytes follow immediately. The delay saves one segment and
/// wakes the server only when there is something to read. The client can use the connection meanwhile. The kernel delays the
/// segment by at most 200 ms.
package enum DelayedHandshakeACK {
    /// Delays the segment if the system supports it. On the event loop, before the socket connects.
    package static func holdBack(on channel: any Channel) { setQuickAcknowledgement(on: channel, to: 0) }

    /// Sends a delayed segment now, because the peer may speak first. On the event loop.
    package static func send(on channel: any Channel) { setQuickAcknowledgement(on: channel, to: 1) }

    private static func setQuickAcknowledgement(on channel: any Channel, to value: SocketOptionValue) {
        #if os(Linux)
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_QUICKACK))
        try? channel.syncOptions?.setOption(option, value: value)
        #endif
    }
}
