// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Channel {
    /// Makes the coming close a reset (RST): the linger time becomes zero.
    func resetAtClose() -> EventLoopFuture<Void> {
        guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededVoidFuture() }
        return socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger())
    }
}

/// `struct linger` of POSIX: two C ints on every platform. The C type itself cannot be initialised here, because the
/// module that NIO imports it from is not a product.
private struct Linger: Sendable {
    let isOn: CInt = 1
    let seconds: CInt = 0
}
