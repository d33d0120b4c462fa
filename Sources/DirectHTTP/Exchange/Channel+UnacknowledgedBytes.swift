// SPDX-License-Identifier: Apache-2.0

import LibC
package import NIOCore

extension Channel {
    /// The bytes that were written and that the socket has not taken. On the event loop.
    package var unwrittenBytes: Int { (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// The bytes that were written and that the peer's system has not acknowledged. They are in NIO's queue or in the kernel's.
    /// Nil if the channel is not an open socket. On the event loop.
    package var unacknowledgedBytes: Int? {
        guard let queued = try? syncOptions?.getOption(.bufferedWritableBytes) else { return nil }
        let kernel = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            socket in
            Self.bytesInKernel(socket)
        }
        guard case .some(.some(let count)) = kernel else { return nil }
        return queued + count
    }

    private static func bytesInKernel(_ socket: NIOBSDSocket.Handle) -> Int? {
        var count: CInt = 0
        #if canImport(Darwin)
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 else { return nil }
        #else
        // For sockets, Linux calls it SIOCOUTQ.
        guard ioctl(socket, UInt(TIOCOUTQ), &count) == 0 else { return nil }
        #endif
        return Int(count)
    }
}
