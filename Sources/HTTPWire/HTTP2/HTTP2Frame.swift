// SPDX-License-Identifier: Apache-2.0

/// Constants and types of HTTP/2 frames (RFC 9113 §4, §6).
package enum HTTP2Frame {
    /// The client's connection preface (RFC 9113 §3.4).
    static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The maximum payload that every peer accepts, and the maximum that we accept, in bytes (RFC 9113 §4.2).
    package static let defaultMaxLength = 16_384
    /// The initial flow-control window of a stream and of the connection, in bytes (RFC 9113 §6.9.2).
    package static let defaultWindow = 65_535
    package static let maxWindow = 0x7fff_ffff
    /// The largest frame that we write, in bytes, even if the peer accepts larger ones, because streams alternate by frame.
    static let largestWritten = 64 * 1024

    /// A window after a change; nil if it exceeds the maximum window (RFC 9113 §6.9.1).
    ///
    /// The sum is checked for overflow: where Int has 32 bits, the maximum window is Int.max.
    static func window<Size: FixedWidthInteger>(_ window: Size, changedBy change: Size) -> Size? {
        let (sum, overflows) = window.addingReportingOverflow(change)
        return overflows || sum > maxWindow ? nil : sum
    }

    /// The known frame types; other types are ignored.
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

    /// SETTINGS parameters (RFC 9113 §6.5.2).
    enum Setting: UInt16 {
        case headerTableSize = 1
        case enablePush
        case maxConcurrentStreams
        case initialWindowSize
        case maxFrameSize
        case maxHeaderListSize
    }

    /// The nine-byte header of a frame.
    struct Header: Equatable {
        var length: Int
        /// Nil for an unknown type.
        var kind: Kind?
        var flags: UInt8
        /// The stream; 0 is the connection.
        var stream: UInt32

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }
}
