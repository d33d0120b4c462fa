// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension WebSocketClosure {
    /// The payload of the close frame: the code, and as much of the reason as fits (RFC 6455 §5.5.1).
    var payload: ByteBuffer {
        var payload = ByteBuffer()
        if code.isSendable {
            payload.writeInteger(code.rawValue)
            payload.writeBytes(reason.prefixOfUTF8(123))
        }
        return payload
    }
}

extension String {
    /// The UTF-8 bytes of the longest prefix of whole scalars that fits in `count` bytes.
    fileprivate func prefixOfUTF8(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in unicodeScalars {
            let next = Array(String(scalar).utf8)
            guard bytes.count + next.count <= count else { break }
            bytes += next
        }
        return bytes
    }
}
