// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore

/// The peer's SETTINGS (RFC 9113 §6.5.2).
struct HTTP2Settings: Equatable {
    var headerTableSize: Int?
    var maxStreams: Int?
    var initialWindow: Int?
    var maxFrame: Int?

    /// Parses the payload of a SETTINGS frame. If a parameter is repeated, its last value applies.
    ///
    /// - Parameter mayAllowPush: whether ENABLE_PUSH may be 1, as a client may send it.
    init(_ payload: ByteBuffer, mayAllowPush: Bool = false) throws(HTTP2ConnectionError) {
        guard payload.readableBytes % 6 == 0 else {
            throw HTTP2ConnectionError(.frameSizeError, "the length of SETTINGS is not a multiple of six")
        }
        var payload = payload
        while let (id, value) = payload.readMultipleIntegers(endianness: .big, as: (UInt16, UInt32).self) {
            switch HTTP2Frame.Setting(rawValue: id) {
            case .headerTableSize:
                headerTableSize = Int(clamping: value)
            case .enablePush:
                guard value == 0 || mayAllowPush && value == 1 else {
                    throw HTTP2ConnectionError(.protocolError, "a server cannot allow push")
                }
            case .maxConcurrentStreams:
                maxStreams = Int(clamping: value)
            case .initialWindowSize:
                guard value <= HTTP2Frame.maxWindow else {
                    throw HTTP2ConnectionError(.flowControlError, "a window cannot be of \(value) bytes")
                }
                initialWindow = Int(value)
            case .maxFrameSize:
                guard (16_384...16_777_215).contains(value) else {
                    throw HTTP2ConnectionError(.protocolError, "a frame cannot be of \(value) bytes")
                }
                maxFrame = Int(value)
            case .maxHeaderListSize, nil:
                break
            }
        }
    }
}
