// SPDX-License-Identifier: Apache-2.0

package import DequeModule
package import HTTPTypes
package import NIOCore

/// The state machine of an HTTP/2 connection, client or server side (RFC 9113). It performs no I/O.
///
/// The owner feeds it the peer's bytes and takes events (`HTTP2Connection+Receiving.swift`), queues data to send
/// (`HTTP2Connection+Sending.swift`), and writes ``out`` to the socket. This type implements frames, streams and windows; the
/// owner handles requests, responses and time.
package struct HTTP2Connection {
    package enum Role {
        case client
        case server
    }

    /// The limits of the peer.
    package struct Limits {
        /// The initial receive window of a stream, in bytes; announced in SETTINGS.
        package var streamWindow = HTTP2Frame.defaultWindow
        /// The receive window of the connection, in bytes.
        package var connectionWindow = HTTP2Frame.defaultWindow
        /// The maximum number of concurrent streams of the peer; a server refuses more.
        package var streams = 100
        /// The maximum of ``HTTP2Connection/heldBytes`` at which a server still accepts streams and replies.
        package var heldBytes = 1 << 20
        /// The maximum size of an encoded header block, at least ``listSize``. A larger one ends the connection.
        package var block = 16_384
        /// The maximum size of the fields of a block, in bytes, including 32 bytes of overhead per field (RFC 7541 §4.1).
        package var listSize = 16_384
        /// The maximum number of fields of a block.
        package var fields = 128

        package init() {}
    }

    package enum Event {
        /// The head of a request or the final head of a response.
        case head(stream: UInt32, HTTP2HeaderBlock, endStream: Bool)
        /// An informational response (RFC 9110 §15.2).
        case informational(stream: UInt32, HTTP2HeaderBlock)
        /// Trailers, which end the peer's side of the stream.
        case trailers(stream: UInt32, HTTPFields)
        case data(stream: UInt32, ByteBuffer, endStream: Bool)
        case reset(stream: UInt32, HTTP2ErrorCode)
        /// The peer violated the protocol on the stream, which was reset (RFC 9113 §5.4.2).
        case failed(stream: UInt32, String)
        /// The trailers are malformed. The stream was reset.
        case malformedTrailers(stream: UInt32, String)
        /// The fields of a head or of a response's trailers exceed the limits. A client's stream was reset; a server's stream is
        /// open, for a reply (RFC 9113 §10.5.1).
        ///
        /// - Parameter fieldLimit: the maximum number of fields if there are more; nil if their size exceeds its limit.
        case tooLarge(stream: UInt32, fieldLimit: Int?)
        /// The peer enlarged the send window of a stream, or of the connection for stream 0.
        case window(stream: UInt32)
        /// The peer does not process streams after `last` (RFC 9113 §6.8).
        case goAway(last: UInt32, HTTP2ErrorCode)
        /// The peer's maximum number of concurrent streams, from SETTINGS.
        case capacity(Int)
    }

    /// The state of a stream that is open or half closed (RFC 9113 §5.1).
    package struct Stream {
        /// Whether the final head arrived.
        var hasHead = false
        var informationalCount = 0
        /// The remaining bytes according to Content-Length; nil without the field.
        package internal(set) var rest: Int64?
        /// Whether the response can have a body; false for HEAD.
        var mayHaveBody = true
        /// Whether the peer sent END_STREAM.
        var isRemoteEnded = false
        var receiveWindow: HTTP2ReceiveWindow

        /// The bytes that we may send. A change of SETTINGS may make it negative (RFC 9113 §6.9.2).
        var sendWindow: Int
        var unsent = Deque<ByteBuffer>()
        package internal(set) var unsentBytes = 0
        /// Whether the body ends with ``unsent``.
        package internal(set) var isWhole = false
        /// Whether END_STREAM was written.
        package internal(set) var isLocalEnded = false
        /// Whether the stream is in ``HTTP2Connection/sending``.
        var isQueued = false
    }

    /// The largest stream ID (RFC 9113 §5.1.1).
    package static let lastID = UInt32(Int32.max)
    /// The maximum number of informational responses before the final one.
    static let maxInformational = HTTP1ResponseReader.maxInformational

    let role: Role
    package let limits: Limits
    /// The frames to write to the socket.
    package var out = ByteBuffer()
    /// Whether the socket is not writable. Replies to the peer are then counted and limited.
    package var isBlocked = false { didSet { if !isBlocked { repliesInWait = 0 } } }

    package internal(set) var streams: [UInt32: Stream] = [:]
    /// The bytes of all bodies in memory: unsent ones, and those of requests that the owner of a server has not received in full.
    /// The owner of a server counts the latter.
    package var heldBytes = 0
    package internal(set) var nextID: UInt32 = 1
    var lastPeerID: UInt32 = 0
    /// The last stream that we reset or removed. The peer may not know yet: its frames for closed streams up to this one are
    /// ignored, and frames for later closed streams are errors (RFC 9113 §5.1).
    var lastReset: UInt32 = 0

    var reader: HTTP2FrameReader
    var decoder: HPACKDecoder
    /// Servers repeat their header blocks. Reading one again costs 3 of 11 µs of CPU time for a request of 32 at a time (the
    /// client kit's case h2c32, November 2026).
    var lastBlock = LastHeaderBlock<(fields: HTTP2HeaderBlock, insertions: [HPACKField])>()
    var floodGuard = HTTP2FloodGuard()
    /// The rest of the client's preface that has not arrived.
    var preface: ArraySlice<UInt8>
    /// The bytes that the peer may still send on all streams, and the received bytes not yet added back to its window.
    var receiveWindow: Int
    var uncredited = 0
    /// The number of replies to SETTINGS and PING while the socket was not writable.
    var repliesInWait = 0

    package var encoder = HPACKEncoder()
    var sendWindow = HTTP2Frame.defaultWindow
    var initialSendWindow = HTTP2Frame.defaultWindow
    var maxFrame = HTTP2Frame.defaultMaxLength
    /// The streams that can send, in turn.
    package internal(set) var sending = Deque<UInt32>()

    /// Creates a connection and writes its first frames to ``out``.
    package init(role: Role, limits: Limits) {
        self.role = role
        self.limits = limits
        reader = HTTP2FrameReader(maxBlock: limits.block)
        decoder = HPACKDecoder(maxListSize: limits.listSize, maxFields: limits.fields)
        receiveWindow = max(limits.connectionWindow, HTTP2Frame.defaultWindow)
        switch role {
        case .client:
            preface = []
            out.writeStaticString(HTTP2Frame.preface)
            out.writeSettings([
                (.enablePush, 0), (.initialWindowSize, limits.streamWindow), (.maxHeaderListSize, limits.listSize),
            ])
        case .server:
            preface = HTTP2Frame.preface.withUTF8Buffer { Array($0) }[...]
            out.writeSettings([
                (.maxConcurrentStreams, limits.streams), (.maxHeaderListSize, limits.listSize),
                (.initialWindowSize, limits.streamWindow),
            ])
        }
        if receiveWindow > HTTP2Frame.defaultWindow { out.writeWindowUpdate(receiveWindow - HTTP2Frame.defaultWindow) }
    }

    /// Resets a stream with RST_STREAM; does nothing if the stream has ended.
    package mutating func reset(_ id: UInt32, _ code: HTTP2ErrorCode) {
        guard streams[id] != nil else { return }
        refuse(id, code)
        remove(id)
    }

    /// Sends RST_STREAM for a stream that need not be in the table.
    mutating func refuse(_ id: UInt32, _ code: HTTP2ErrorCode) {
        out.writeReset(code, stream: id)
        lastReset = max(lastReset, id)
    }

    /// Sends GOAWAY: the peer must open no more streams, or the connection ends with an error (RFC 9113 §6.8).
    package mutating func goAway(_ code: HTTP2ErrorCode, isGraceful: Bool = false) {
        out.writeGoAway(code, last: isGraceful ? Self.lastID : lastPeerID)
    }

    /// Removes a stream from the table and from the send queue.
    package mutating func remove(_ id: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        heldBytes -= stream.unsentBytes
        // Otherwise ended streams would stay queued while the window is closed.
        if stream.isQueued { sending.removeAll { $0 == id } }
    }
}
