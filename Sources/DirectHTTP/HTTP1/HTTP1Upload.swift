// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The state of a request's body while it is sent, as a value.
struct HTTP1Upload {
    /// The largest body in memory, in bytes, that is sent in one write with its head. Larger ones go in pieces.
    static let smallBody = 16 * 1024

    /// Whether the whole request was written.
    private(set) var isSent = true
    /// Whether the server may refuse the request without reading its body: the body is not sent with its head, or a proxy gets it.
    private(set) var mayStayUnread = false
    /// Whether the response arrived instead of `100 Continue`. The body is not sent; only the response is awaited.
    var isRefused = false
    /// The unsent bytes of a body of known length. The last byte ends the request, because the response may arrive before the
    /// task that reads the body reports its end.
    private var unsentBytes: Int64 = 0
    /// The unsent part of a body in memory. It is written in pieces, as the socket accepts them; each write counts as activity.
    private var unsentBody: ByteBuffer?

    init() {}

    /// - Parameter isForwarded: whether the request goes to a proxy that forwards it.
    init(_ request: PreparedRequest, isForwarded: Bool) {
        switch request.body.storage {
        case .none: break
        case .bytes(let bytes) where bytes.readableBytes <= Self.smallBody:
            mayStayUnread = isForwarded
        case .bytes(let bytes):
            (isSent, mayStayUnread, unsentBody) = (false, true, bytes)
        case .file, .stream:
            (isSent, mayStayUnread) = (false, true)
            if case .length(let length) = request.framing {
                unsentBytes = length
                isSent = length == 0
            }
        }
    }

    var isInMemory: Bool { unsentBody != nil }

    /// Whether the request waits for the next piece of a body that is not in memory.
    var waitsForPiece: Bool { !isSent && unsentBody == nil && !isRefused }

    /// The next piece of a body in memory; nil after the last.
    mutating func takePiece() -> ByteBuffer? {
        guard var rest = unsentBody.take() else { return nil }
        let piece = rest.readSlice(length: min(rest.readableBytes, FileBody.pieceSize))
        isSent = rest.readableBytes == 0
        unsentBody = isSent ? nil : rest
        return piece
    }

    /// Counts a written piece of a body of known length.
    mutating func sent(_ count: Int) {
        unsentBytes -= Int64(count)
        isSent = unsentBytes == 0
    }

    /// Ends a body of unknown length.
    mutating func end() { isSent = true }

    mutating func discard() { unsentBody = nil }
}
