// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Channel {
    /// Makes the next close send a reset (RST), by setting the linger time to zero.
    func resetsAtClose() {
        let linger = (self as? any SocketOptionProvider)?
            .unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger())
        // The option fails on a socket that is already closed, which is harmless.
        linger?.whenFailure { _ in }
    }
}

/// The `struct linger` of POSIX: two C ints on every platform. NIO does not export the C type.
private struct Linger: Sendable {
    let isOn: CInt = 1
    let seconds: CInt = 0
}
