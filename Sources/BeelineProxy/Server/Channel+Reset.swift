// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Channel {
    /// Makes the coming close a reset (RST): the linger time becomes zero.
    func resetsAtClose() {
        let linger = (self as? any SocketOptionProvider)?
            .unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger())
        // A socket that is gone already needs none.
        linger?.whenFailure { _ in }
    }
}

/// `struct linger` of POSIX: two C ints on every platform. NIO does not export the module that has the C type.
private struct Linger: Sendable {
    let isOn: CInt = 1
    let seconds: CInt = 0
}
