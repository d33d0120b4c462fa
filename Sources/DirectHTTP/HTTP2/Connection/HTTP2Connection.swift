// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

typealias HTTP2ClientConnection = HTTP2Connection<HTTP2Fields>
typealias HTTP2ServerConnection = HTTP2Connection<HTTP2RequestHead>

/// What the owner of a connection keeps of the fields of one header block; `HTTP2HeaderRules` checks them.
protocol HTTP2FieldCollector {
    init()
    /// Takes the next field of the block.
    mutating func take(_ field: HPACKField)
}

/// One HTTP/2 connection, either end of it, as a value (RFC 9113).
///
/// The owner feeds it the peer's bytes and takes events (`HTTP2Connection+Receiving.swift`), tells it what to send
/// (`HTTP2Connection+Sending.swift`), and writes ``out`` to the socket. The rules of frames, streams and windows are here; what
/// requests and responses mean, and what time it is, the owner knows.
struct HTTP2Connection<Fields: HTTP2FieldCollector> {
    enum Role {
        case client
        case server
    }

    /// What the peer may do.
    struct Limits {
        /// Octets that a stream may receive before the owner credits it; SETTINGS tells the peer.
        var streamWindow = HTTP2Frame.defaultWindow
        /// Octets that all streams may have on the way together.
        var connectionWindow = HTTP2Frame.defaultWindow
        /// Streams that the peer may have open at a time; a server refuses more.
        var streams = 100
        /// Octets of a header block.
        var block = 16_384
        /// Octets of the fields of a block, each with its 32 octets of overhead (RFC 7541 §4.1).
        var listSize = 16_384
        /// Fields of a block.
        var fields = 128
    }

    enum Event {
        /// The head of a request or the final head of a response.
        case head(stream: UInt32, status: Int?, Fields, endStream: Bool)
        /// An informational response (RFC 9110 §15.2).
        case informational(stream: UInt32, status: Int)
        /// Trailers, which end the peer's side of the stream.
        case trailers(stream: UInt32, Fields)
        case data(stream: UInt32, ByteBuffer, endStream: Bool)
        /// The peer reset the stream.
        case reset(stream: UInt32, HTTP2ErrorCode)
        /// The peer broke a rule on the stream, which was reset for it (RFC 9113 §5.4.2).
        case failed(stream: UInt32, String)
        /// The peer lets us send more on a stream; 0 is the connection.
        case window(stream: UInt32)
        /// The peer takes no streams after `last` (RFC 9113 §6.8).
        case goAway(last: UInt32, HTTP2ErrorCode)
        /// How many streams the peer takes at a time, where SETTINGS says so.
        case capacity(Int)
    }

    /// What is known of a stream that is open or half closed (RFC 9113 §5.1).
    struct Stream {
        /// Whether the final head came.
        var hasHead = false
        var informationalCount = 0
        /// Octets that Content-Length still promises; nil without the field.
        var rest: Int64?
        /// Whether a body can follow the head: none answers HEAD.
        var mayHaveBody = true
        /// Whether the peer sent END_STREAM.
        var isRemoteEnded = false
        var receiveWindow: HTTP2ReceiveWindow

        /// What the peer lets us send. A change of SETTINGS may make it negative (RFC 9113 §6.9.2).
        var sendWindow: Int
        var unsent = Deque<ByteBuffer>()
        var unsentBytes = 0
        /// Whether nothing follows what is in ``unsent``.
        var isWhole = false
        /// Whether END_STREAM was written.
        var isLocalEnded = false
        /// Whether it stands in ``HTTP2Connection/sending``.
        var isQueued = false
    }

    /// The largest number of a stream (RFC 9113 §5.1.1).
    static var lastID: UInt32 { UInt32(Int32.max) }
    /// Informational responses before the final one.
    static var maximumInformational: Int { HTTP1Handler.maximumInformational }

    let role: Role
    let limits: Limits
    /// Frames to be written to the socket.
    var out = ByteBuffer()
    /// Whether the socket has no room. A peer that asks and does not read is cut off then.
    var isBlocked = false { didSet { if !isBlocked { repliesInWait = 0 } } }

    var streams: [UInt32: Stream] = [:]
    /// The next stream of ours.
    var nextID: UInt32 = 1
    /// The last stream that the peer opened.
    var lastPeerID: UInt32 = 0
    /// The last stream that we reset or forgot. The peer may not know of it yet: what it sends on closed streams up to this one is passed
    /// over, and on later ones it is an error (RFC 9113 §5.1).
    var lastReset: UInt32 = 0

    var reader: HTTP2FrameReader
    var decoder: HPACKDecoder
    /// Servers repeat their header blocks. Reading one again costs 3 of 11 µs of processor time for a request of 32 at a time (the
    /// client kit's case h2c32, November 2026).
    var lastBlock = LastHeaderBlock<(rules: HTTP2HeaderRules, fields: Fields, insertions: [HPACKField])>()
    var guardian = HTTP2FloodGuard()
    /// Octets of the client's preface that have not come yet.
    var preface: ArraySlice<UInt8>
    /// What the peer may still send on all streams, and what came and was not allowed again.
    var receiveWindow: Int
    var uncredited = 0
    /// Answers to SETTINGS and PING while the socket had no room.
    var repliesInWait = 0

    var encoder = HPACKEncoder()
    var sendWindow = HTTP2Frame.defaultWindow
    var initialSendWindow = HTTP2Frame.defaultWindow
    var maximumFrame = HTTP2Frame.defaultMaximumLength
    /// Streams that have something to send and a window for it, each in its turn.
    var sending = Deque<UInt32>()

    /// A connection whose first frames are in ``out``.
    init(role: Role, limits: Limits) {
        self.role = role
        self.limits = limits
        reader = HTTP2FrameReader(maximumBlock: limits.block)
        decoder = HPACKDecoder(maximumListSize: limits.listSize, maximumFields: limits.fields)
        receiveWindow = max(limits.connectionWindow, HTTP2Frame.defaultWindow)
        switch role {
        case .client:
            preface = []
            out.writeStaticString(HTTP2Frame.preface)
            out.writeSettings([
                (.enablePush, 0), (.initialWindowSize, limits.streamWindow), (.maximumHeaderListSize, limits.listSize),
            ])
        case .server:
            preface = HTTP2Frame.preface.withUTF8Buffer { Array($0) }[...]
            out.writeSettings([
                (.maximumConcurrentStreams, limits.streams), (.maximumHeaderListSize, limits.listSize),
                (.initialWindowSize, limits.streamWindow),
            ])
        }
        if receiveWindow > HTTP2Frame.defaultWindow { out.writeWindowUpdate(receiveWindow - HTTP2Frame.defaultWindow) }
    }

    /// Ends a stream by RST_STREAM; does nothing where it has ended.
    mutating func reset(_ id: UInt32, _ code: HTTP2ErrorCode) {
        guard streams[id] != nil else { return }
        refuse(id, code)
        remove(id)
    }

    /// Tells the peer that a stream is over for us, whether or not it is in the table.
    mutating func refuse(_ id: UInt32, _ code: HTTP2ErrorCode) {
        out.writeReset(code, stream: id)
        lastReset = max(lastReset, id)
    }

    /// Tells the peer to open no more streams, or why the connection ends (RFC 9113 §6.8).
    mutating func goAway(_ code: HTTP2ErrorCode, isGraceful: Bool = false) {
        out.writeGoAway(code, last: isGraceful ? Self.lastID : lastPeerID)
    }

    /// Forgets a stream, and that it waits to send.
    mutating func remove(_ id: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        // Windows that stay shut must not keep streams that have ended.
        if stream.isQueued { sending.removeAll { $0 == id } }
    }

    /// Forgets a stream that both sides have ended.
    mutating func removeIfEnded(_ id: UInt32) {
        guard let stream = streams[id], stream.isLocalEnded, stream.isRemoteEnded else { return }
        remove(id)
    }
}
