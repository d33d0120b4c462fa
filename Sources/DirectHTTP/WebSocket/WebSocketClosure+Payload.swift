// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension WebSocketClosure {
    /// The payload of the close frame: the code, and as much of the reason as fits (RFC 6455 §5.5.1).
    var payload: ByteBuffer {
        var payload = ByteBuffer()
        if code.isSendable {
            payload.writeInteger(code.rawValue)
            // A scalar has at least one byte, so the first 123 are enough of a long reason.
            var text = Substring(reason.unicodeScalars.prefix(123))
            while text.utf8.count > 123 { text = Substring(text.unicodeScalars.dropLast()) }
            payload.writeSubstring(text)
        }
        return payload
    }
}
