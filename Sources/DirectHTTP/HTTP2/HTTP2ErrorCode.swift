// SPDX-License-Identifier: Apache-2.0

/// An HTTP/2 error code (RFC 9113 §7).
struct HTTP2ErrorCode: Hashable, CustomStringConvertible {
    let rawValue: UInt32

    static let noError = HTTP2ErrorCode(rawValue: 0)
    static let protocolError = HTTP2ErrorCode(rawValue: 1)
    static let flowControl = HTTP2ErrorCode(rawValue: 3)
    static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    static let frameSize = HTTP2ErrorCode(rawValue: 6)
    static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    static let cancel = HTTP2ErrorCode(rawValue: 8)
    static let compression = HTTP2ErrorCode(rawValue: 9)
    static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
    static let http11Required = HTTP2ErrorCode(rawValue: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name from RFC 9113, or the number of an unknown code.
    var description: String {
        rawValue < Self.names.count ? Self.names[Int(rawValue)] : "error \(rawValue)"
    }
}
