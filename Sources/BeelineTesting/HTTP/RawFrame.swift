// SPDX-License-Identifier: Apache-2.0

/// An HTTP/2 frame as bytes (RFC 9113 §4.1), valid or invalid, to send or receive on a ``RawConnection``.
///
/// ```swift
/// _ = try await connection.receive(count: RawFrame.preface.count)
/// try await connection.send(RawFrame(.settings).bytes)
/// let request = try await connection.receiveFrame { $0.kind == .headers }
/// try await connection.send(RawFrame(.goAway, payload: [0, 0, 0, 0, 0, 0, 0, 0]).bytes)
/// ```
package struct RawFrame: Hashable, Sendable {
    /// The frame types (RFC 9113 §6).
    package enum Kind: UInt8, Hashable, Sendable {
        /// DATA (§6.1).
        case data
        /// HEADERS (§6.2).
        case headers
        /// PRIORITY (§6.3).
        case priority
        /// RST_STREAM (§6.4).
        case reset
        /// SETTINGS (§6.5).
        case settings
        /// PUSH_PROMISE (§6.6).
        case pushPromise
        /// PING (§6.7).
        case ping
        /// GOAWAY (§6.8).
        case goAway
        /// WINDOW_UPDATE (§6.9).
        case windowUpdate
        /// CONTINUATION (§6.10).
        case continuation
    }

    /// The client connection preface (RFC 9113 §3.4).
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// END_STREAM, or ACK for SETTINGS and PING.
    package static let endStream: UInt8 = 1
    /// END_HEADERS.
    package static let endHeaders: UInt8 = 4

    /// The type; nil for a type that RFC 9113 does not define.
    package var kind: Kind?
    /// The flags.
    package var flags: UInt8
    /// The stream ID; 0 is the connection.
    package var stream: UInt32
    /// The bytes after the nine-byte header.
    package var payload: [UInt8]
    /// The length in the header; nil: the actual length.
    package var declaredLength: Int?

    /// Creates a frame.
    package init(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    /// Creates a HEADERS frame whose field block uses neither Huffman codes nor the dynamic table.
    package static func headers(
        _ fields: [(name: String, value: String)],
        stream: UInt32,
        flags: UInt8 = endHeaders
    ) -> RawFrame {
        RawFrame(.headers, flags: flags, stream: stream, payload: fields.flatMap { Self.literal($0.name, $0.value) })
    }

    /// Creates a SETTINGS frame (RFC 9113 §6.5).
    package static func settings(_ values: [(id: UInt16, value: UInt32)]) -> RawFrame {
        RawFrame(.settings, payload: values.flatMap { [UInt8($0.id >> 8), UInt8($0.id & 255)] + big($0.value) })
    }

    /// Header and payload.
    package var bytes: [UInt8] {
        let length = Self.big(UInt32(truncatingIfNeeded: declaredLength ?? payload.count)).dropFirst()
        return Array(length) + [kind?.rawValue ?? 0xff, flags] + Self.big(stream) + payload
    }

    /// Encodes a literal header field without indexing and with a new name (RFC 7541 §6.2.2).
    package static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0] + string(name) + string(value)
    }

    /// Encodes four bytes in network order.
    package static func big(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
    }

    /// Encodes a string literal shorter than 2^21 bytes (RFC 7541 §5.1 and §5.2).
    private static func string(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var rest = bytes.count - 127
        var length: [UInt8] = [127]
        while rest >= 128 {
            length.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }
}

extension RawConnection {
    /// Reads frames until one fulfils the condition, and returns it; nil if the peer closes.
    ///
    /// - Throws: ``TestingError`` with code `badInput` for a frame over 1 MiB, or after 10,000 other frames.
    package func receiveFrame(where condition: (RawFrame) -> Bool = { _ in true }) async throws -> RawFrame? {
        for _ in 0..<10_000 {
            guard let header = try? await receive(count: 9) else { return nil }
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            guard length <= 1 << 20 else { throw TestingError(.badInput, "an HTTP/2 frame of \(length) bytes") }
            var frame = RawFrame(.data, flags: header[4], payload: try await receive(count: length))
            frame.kind = RawFrame.Kind(rawValue: header[3])
            frame.stream = header[5...].reduce(0) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
            if condition(frame) { return frame }
        }
        throw TestingError(.badInput, "the expected frame is not among 10,000 frames")
    }
}
