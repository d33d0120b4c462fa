// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The frames of HTTP/2 (RFC 9113 §4 and §6).
enum HTTP2Frame {
    /// What a client sends first (RFC 9113 §3.4).
    static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    static let headerLength = 9
    /// The largest frame that everybody takes, and the largest that we take (RFC 9113 §4.2).
    static let defaultMaximumLength = 16_384
    /// The window of a stream and of the connection before anybody says otherwise (RFC 9113 §6.9.2).
    static let defaultWindow = 65_535
    static let maximumWindow = 0x7fff_ffff

    /// The types of frames; others are ignored.
    enum Kind: UInt8 {
        case data
        case headers
        case priority
        case resetStream
        case settings
        case pushPromise
        case ping
        case goAway
        case windowUpdate
        case continuation
    }

    enum Flags {
        static let acknowledgement: UInt8 = 0x1
        static let endStream: UInt8 = 0x1
        static let endHeaders: UInt8 = 0x4
        static let padded: UInt8 = 0x8
        static let priority: UInt8 = 0x20
    }

    /// Parameters of SETTINGS (RFC 9113 §6.5.2).
    enum Setting: UInt16 {
        case headerTableSize = 1
        case enablePush
        case maximumConcurrentStreams
        case initialWindowSize
        case maximumFrameSize
        case maximumHeaderListSize
    }

    /// The first nine octets of a frame.
    struct Header: Equatable {
        var length: Int
        /// Nil for a type that nobody told us of.
        var kind: Kind?
        var flags: UInt8
        /// 0 is the connection.
        var stream: UInt32

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }
}

/// Why a connection or a stream of it ends (RFC 9113 §7).
struct HTTP2ErrorCode: Hashable, CustomStringConvertible {
    let rawValue: UInt32

    static let noError = HTTP2ErrorCode(rawValue: 0)
    static let protocolError = HTTP2ErrorCode(rawValue: 1)
    static let flowControl = HTTP2ErrorCode(rawValue: 3)
    static let frameSize = HTTP2ErrorCode(rawValue: 6)
    static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    static let cancel = HTTP2ErrorCode(rawValue: 8)
    static let compression = HTTP2ErrorCode(rawValue: 9)
    static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name that RFC 9113 gives it, or its number.
    var description: String {
        rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error \(rawValue)"
    }
}

/// What the peer did wrong so that the connection cannot go on (RFC 9113 §5.4.1).
struct HTTP2ConnectionError: Error, Equatable {
    let code: HTTP2ErrorCode
    let message: String

    init(_ code: HTTP2ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension ByteBuffer {
    /// Appends the header of a frame; its payload follows.
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

    mutating func writePing(_ payload: UInt64, isAcknowledgement: Bool) {
        writeFrame(.ping, flags: isAcknowledgement ? HTTP2Frame.Flags.acknowledgement : 0, length: 8)
        writeInteger(payload)
    }

    /// `GOAWAY` with no stream of the peer's ever processed: servers open none.
    mutating func writeGoAway(_ code: HTTP2ErrorCode) {
        writeFrame(.goAway, length: 8)
        writeMultipleIntegers(UInt32(0), code.rawValue)
    }

    /// Appends a header block in as many frames as its size asks for (RFC 9113 §6.2, §6.10).
    mutating func writeHeaderBlock(_ block: inout ByteBuffer, stream: UInt32, endStream: Bool, maximumLength: Int) {
        var flags = endStream ? HTTP2Frame.Flags.endStream : 0
        var kind = HTTP2Frame.Kind.headers
        repeat {
            let length = min(block.readableBytes, maximumLength)
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
