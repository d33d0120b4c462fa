// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

// Parsers of payloads that clients and servers share.

extension HTTP2Frame.Header {
    /// The integer that is the whole payload.
    func integer<Value: FixedWidthInteger>(
        _ payload: ByteBuffer,
        of name: String
    ) throws(HTTP2ConnectionError) -> Value {
        guard length == MemoryLayout<Value>.size, let value: Value = payload.getInteger(at: payload.readerIndex) else {
            throw HTTP2ConnectionError(.frameSizeError, "\(name) does not have \(MemoryLayout<Value>.size) bytes")
        }
        return value
    }

    /// The last stream and the error code of a GOAWAY (RFC 9113 §6.8).
    func goAway(_ payload: ByteBuffer) throws(HTTP2ConnectionError) -> (last: UInt32, HTTP2ErrorCode) {
        guard stream == 0 else { throw HTTP2ConnectionError(.protocolError, "GOAWAY on a stream") }
        var payload = payload
        guard let (last, code) = payload.readMultipleIntegers(endianness: .big, as: (UInt32, UInt32).self) else {
            throw HTTP2ConnectionError(.frameSizeError, "GOAWAY is too short")
        }
        return (last & 0x7fff_ffff, HTTP2ErrorCode(rawValue: code))
    }

    /// Validates a PRIORITY frame. Its content is deprecated and ignored (RFC 9113 §5.3.2, §6.3).
    func checkPriority(_ payload: ByteBuffer) throws(HTTP2ConnectionError) {
        guard stream != 0 else { throw HTTP2ConnectionError(.protocolError, "PRIORITY on stream 0") }
        guard length == 5 else { throw HTTP2ConnectionError(.frameSizeError, "PRIORITY does not have five bytes") }
        try checkDependency(payload)
    }

    /// Rejects a stream that depends on itself (RFC 7540 §5.3.1).
    func checkDependency(_ priority: ByteBuffer) throws(HTTP2ConnectionError) {
        guard let other = priority.getInteger(at: priority.readerIndex, as: UInt32.self), other & 0x7fff_ffff != stream
        else { throw HTTP2ConnectionError(.protocolError, "a stream depends on itself") }
    }
}

extension HPACKDecoder {
    /// Decodes a header block. Every block must be decoded, even if its fields are unused: the table belongs to the connection,
    /// so a malformed block ends the connection (RFC 9113 §4.3).
    mutating func decode(_ block: ByteBuffer, _ body: (HPACKField) -> Void) throws(HTTP2ConnectionError) {
        do {
            try block.withUnsafeReadableBytes { try decode($0, body) }
        } catch {
            throw HTTP2ConnectionError(.compressionError, "a header block cannot be decoded")
        }
    }
}
