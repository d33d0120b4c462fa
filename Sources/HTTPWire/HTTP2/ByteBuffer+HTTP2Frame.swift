// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import NIOCore

extension ByteBuffer {
    /// Appends a frame header; the caller appends the payload.
    mutating func writeFrame(_ kind: HTTP2Frame.Kind, flags: UInt8 = 0, stream: UInt32 = 0, length: Int) {
        writeMultipleIntegers(UInt32(length) << 8 | UInt32(kind.rawValue), flags, stream)
    }

    mutating func writeSettings(_ settings: [(HTTP2Frame.Setting, Int)]) {
        writeFrame(.settings, length: settings.count * 6)
        for (setting, value) in settings {
            writeMultipleIntegers(setting.rawValue, UInt32(clamping: value))
        }
    }

    mutating func writeWindowUpdate(_ increment: Int, stream: UInt32 = 0) {
        writeFrame(.windowUpdate, stream: stream, length: 4)
        writeInteger(UInt32(increment))
    }

    mutating func writeReset(_ code: HTTP2ErrorCode, stream: UInt32) {
        writeFrame(.resetStream, stream: stream, length: 4)
        writeInteger(code.rawValue)
    }

    package mutating func writePing(_ payload: UInt64, isAcknowledgement: Bool) {
        writeFrame(.ping, flags: isAcknowledgement ? HTTP2Frame.Flags.acknowledgement : 0, length: 8)
        writeInteger(payload)
    }

    /// Appends a GOAWAY frame.
    ///
    /// - Parameter last: the last of the peer's streams that was processed; 0 if the peer is a server, which opens none.
    mutating func writeGoAway(_ code: HTTP2ErrorCode, last: UInt32 = 0) {
        writeFrame(.goAway, length: 8)
        writeMultipleIntegers(last, code.rawValue)
    }

    /// Appends a header block, in HEADERS and as many CONTINUATION frames as needed (RFC 9113 §6.2, §6.10).
    mutating func writeHeaderBlock(_ block: inout ByteBuffer, stream: UInt32, endStream: Bool, maxLength: Int) {
        var flags = endStream ? HTTP2Frame.Flags.endStream : 0
        var kind = HTTP2Frame.Kind.headers
        repeat {
            let length = min(block.readableBytes, maxLength)
            if length == block.readableBytes { flags |= HTTP2Frame.Flags.endHeaders }
            writeFrame(kind, flags: flags, stream: stream, length: length)
            block.withUnsafeReadableBytes { bytes in
                _ = writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
            }
            block.moveReaderIndex(forwardBy: length)
            flags = 0
            kind = .continuation
        } while block.readableBytes > 0
    }
}
