// SPDX-License-Identifier: Apache-2.0

/// The frames of HTTP/2 (RFC 9113 §4 and §6).
enum HTTP2Frame {
    /// What a client sends first (RFC 9113 §3.4).
    static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The largest frame that everybody takes, and the largest that we take (RFC 9113 §4.2).
    static let defaultMaximumLength = 16_384
    /// The window of a stream and of the connection before anybody says otherwise (RFC 9113 §6.9.2).
    static let defaultWindow = 65_535
    static let maximumWindow = 0x7fff_ffff
    /// The largest frame that we write, whatever the peer takes: streams take turns by frames.
    static let largestWritten = 64 * 1024

    /// A window after a change; nil where it would be larger than a window can be (RFC 9113 §6.9.1).
    ///
    /// The sum is checked before it is made: where an Int has 32 bits, the largest window is the largest Int.
    static func window<Size: FixedWidthInteger>(_ window: Size, changedBy change: Size) -> Size? {
        let (sum, overflows) = window.addingReportingOverflow(change)
        return overflows || sum > maximumWindow ? nil : sum
    }

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
