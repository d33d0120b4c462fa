// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Channel {
    /// Makes the next close send a reset (RST) by setting the linger time to zero.
    func resetAtClose() -> EventLoopFuture<Void> {
        guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededVoidFuture() }
        return socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger())
    }
}

/// `struct linger` of POSIX: two C ints on every platform. The C type is not usable here, because NIO imports it from a module
/// that is not a product.
private struct Linger: Sendable {
    let isOn: CInt = 1
    let seconds: CInt = 0
}
