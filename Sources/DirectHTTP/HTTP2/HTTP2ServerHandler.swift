// SPDX-License-Identifier: Apache-2.0

import DequeModule
package import NIOCore

/// A server's end of an HTTP/2 connection (RFC 9113) for requests and replies that are handled whole, such as those of DNS. A
/// stream is an entry in a table, not a channel, and a request that is answered at once never enters it.
///
/// What it does with frames is in `HTTP2ServerHandler+Reading.swift`. Everything here runs on the connection's event loop.
package final class HTTP2ServerHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// A request.
    package struct Request {
        /// The stream that waits for the reply.
        package let stream: UInt32
        /// The method's name.
        package internal(set) var method = ""
        /// Path and query.
        package internal(set) var target = ""
        /// The first `Content-Type` field.
        package internal(set) var contentType: String?
        /// The lines of `X-Forwarded-For`, as one.
        package internal(set) var forwardedFor: String?
        /// The content as far as it was allowed.
        package internal(set) var body: [UInt8] = []
        /// Whether there was more content than allowed; such a request is to be answered at once.
        package internal(set) var isTooLarge = false

        init(stream: UInt32) { self.stream = stream }
    }

    /// What clients may do.
    package struct Limits: Sendable {
        /// Streams at a time; more are refused.
        package var streams = 250
        /// Octets of a request's content.
        package var body = 65_535
        /// Octets of a header block, and of its fields together.
        package var head = 16_384
        /// The time from a request's header block to its end.
        package var requestTime = TimeAmount.seconds(10)
        /// The time that the client may take to read a reply.
        package var replyTime = TimeAmount.seconds(30)
        /// The time without a request. What is no request, such as PING, does not count.
        package var idleTime = TimeAmount.seconds(60)

        /// The defaults.
        package init() {}
    }

    /// A stream that has not ended.
    struct Stream {
        /// Nil once it was handed over.
        var request: Request?
        var sendWindow: Int
        /// What is left of the reply's content.
        var unsent: ArraySlice<UInt8> = []
        var isQueued = false
        /// Whether more content may come of a request that was answered without it.
        var isOverrun = false
        /// When the request, or the reply, began.
        var since: NIODeadline
    }

    let limits: Limits
    private let onRequest: (Request) -> Void
    private let onCancel: (UInt32) -> Void
    private(set) var context: ChannelHandlerContext?

    var streams: [UInt32: Stream] = [:]
    /// The last stream that the client opened.
    var lastID: UInt32 = 0

    // MARK: Reading

    /// Octets of the client's preface that have not come yet.
    private var preface = HTTP2Frame.preface.withUTF8Buffer { Array($0) }[...]
    private var reader: HTTP2FrameReader
    var decoder: HPACKDecoder
    var guardian = HTTP2FloodGuard()
    private var isReading = false
    private var hasEnded = false
    /// What came and was not yet allowed again.
    var uncredited = 0

    // MARK: Sending

    var encoder = HPACKEncoder()
    /// When the client let replies pile up; nil: it reads them.
    private var stalledSince: NIODeadline?
    /// When the last stream ended, or the connection began.
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var watch: Scheduled<Void>?
    /// The frames of this turn of the loop, written at its end.
    var out = ByteBuffer()
    private var block = ByteBuffer()
    private var isFlushPlanned = false
    var sendWindow = HTTP2Frame.defaultWindow
    var initialSendWindow = HTTP2Frame.defaultWindow
    /// Streams whose replies wait for the connection's window.
    private var sending = Deque<UInt32>()

    /// A connection.
    ///
    /// - Parameters:
    ///   - limits: what clients may do.
    ///   - onRequest: has a request answered, at once or later, by ``reply(_:fields:body:to:)``.
    ///   - onCancel: a stream's reply is not wanted any more.
    package init(
        limits: Limits,
        onRequest: @escaping (Request) -> Void,
        onCancel: @escaping (UInt32) -> Void
    ) {
        self.limits = limits
        self.onRequest = onRequest
        self.onCancel = onCancel
        reader = HTTP2FrameReader(maximumBlock: limits.head)
        decoder = HPACKDecoder(maximumListSize: limits.head, maximumFields: 128)
    }

    // MARK: Replies

    /// Replies to a stream; does nothing where it has ended.
    ///
    /// - Parameters:
    ///   - status: the status code.
    ///   - fields: names in lower case, values, and whether the same will come again.
    ///   - body: the content.
    ///   - id: the stream.
    package func reply(
        _ status: Int,
        fields: [(name: String, value: String, repeats: Bool)],
        body: [UInt8],
        to id: UInt32
    ) {
        guard let context, context.channel.isActive, streams[id] != nil else { return }
        block.clear()
        encoder.begin(into: &block)
        encoder.encode(":status", String(status), .incremental, into: &block)
        for field in fields {
            encoder.encode(field.name, field.value, field.repeats ? .incremental : .none, into: &block)
        }
        let maximum = HTTP2Frame.defaultMaximumLength
        out.writeHeaderBlock(&block, stream: id, endStream: body.isEmpty, maximumLength: maximum)
        guard !body.isEmpty else {
            if streams[id]?.isOverrun != true { streams[id] = nil }
            quietSince = context.eventLoop.now
            return planFlush(context)
        }
        streams[id]?.unsent = body[...]
        streams[id]?.since = context.eventLoop.now
        guardian.progress()
        queue(id)
        sendQueued()
        planFlush(context)
    }

    /// Tells the client to open no more streams here. Those that are open go on.
    package func sayGoodbye() {
        guard let context else { return }
        out.writeGoAway(.noError, last: UInt32(HTTP2Frame.maximumWindow))
        flush(context)
    }

    /// Lets a stream send, where it has something to send and a window for it.
    func queue(_ id: UInt32) {
        guard let stream = streams[id], !stream.isQueued, !stream.unsent.isEmpty, stream.sendWindow > 0 else { return }
        streams[id]?.isQueued = true
        sending.append(id)
    }

    /// A frame of each stream in turn, as far as the windows go.
    func sendQueued() {
        while sendWindow > 0, let id = sending.popFirst() {
            guard var stream = streams[id] else { continue }
            stream.isQueued = false
            // SETTINGS may have taken the window back while it waited (RFC 9113 §6.9.2).
            guard stream.sendWindow > 0 else {
                streams[id] = stream
                continue
            }
            let length = min(
                stream.unsent.count,
                HTTP2Frame.defaultMaximumLength,
                sendWindow,
                stream.sendWindow
            )
            let isLast = length == stream.unsent.count
            out.writeFrame(.data, flags: isLast ? HTTP2Frame.Flags.endStream : 0, stream: id, length: length)
            out.writeBytes(stream.unsent.prefix(length))
            stream.unsent = stream.unsent.dropFirst(length)
            stream.sendWindow -= length
            sendWindow -= length
            streams[id] = isLast && !stream.isOverrun ? nil : stream
            if isLast, let context { quietSince = context.eventLoop.now }
            queue(id)
        }
    }

    // MARK: Streams

    /// Hands a request over that came whole.
    func hand(_ request: Request) {
        streams[request.stream]?.request = nil
        onRequest(request)
    }

    /// Ends a stream that the client does not want any more, or that it spoilt.
    func end(_ id: UInt32, _ code: HTTP2ErrorCode? = nil) {
        if let code { out.writeReset(code, stream: id) }
        guard let stream = streams.removeValue(forKey: id) else { return }
        if stream.request == nil { onCancel(id) }
    }

    // MARK: Channel events

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        quietSince = context.eventLoop.now
        planWatch(context)
        out.writeSettings([
            (.maximumConcurrentStreams, limits.streams), (.maximumHeaderListSize, limits.head),
            // One octet more than is read, so that who sends more is found out.
            (.initialWindowSize, limits.body + 1),
        ])
        flush(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        watch?.cancel()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        isReading = true
        var bytes = unwrapInboundIn(data)
        let now = context.eventLoop.now
        do throws(HTTP2ConnectionError) {
            try takePreface(&bytes)
            reader.feed(bytes)
            while let event = try reader.next() { try take(event, now: now) }
        } catch {
            hasEnded = true
            out.writeGoAway(error.code, last: lastID)
            flush(context)
            context.close(promise: nil)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        sendQueued()
        flush(context)
        context.fireChannelReadComplete()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Who does not read what it is told is not listened to either: replies would pile up.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        stalledSince = context.channel.isWritable ? nil : context.eventLoop.now
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        watch?.cancel()
        for id in streams.keys { end(id) }
        context.fireChannelInactive()
    }

    // MARK: Time

    /// Looks from time to time, and not at a moment of each stream's own: there may be hundreds.
    private func planWatch(_ context: ChannelHandlerContext) {
        let shortest = min(limits.requestTime, limits.replyTime, limits.idleTime)
        watch = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(shortest.nanoseconds / 2)) {
            [weak self] in
            guard let self, let context = self.context else { return }
            guard !isOverdue(context.eventLoop.now) else { return leave(context) }
            planWatch(context)
        }
    }

    /// Whether the client has let a limit pass.
    private func isOverdue(_ now: NIODeadline) -> Bool {
        if let stalledSince, now - stalledSince >= limits.replyTime { return true }
        guard !streams.isEmpty else { return now - quietSince >= limits.idleTime }
        return streams.values.contains { stream in
            if stream.request != nil || stream.isOverrun { return now - stream.since >= limits.requestTime }
            return !stream.unsent.isEmpty && now - stream.since >= limits.replyTime
        }
    }

    private func leave(_ context: ChannelHandlerContext) {
        hasEnded = true
        out.writeGoAway(.noError, last: lastID)
        flush(context)
        context.close(promise: nil)
    }

    /// RFC 9113 §3.4.
    private func takePreface(_ bytes: inout ByteBuffer) throws(HTTP2ConnectionError) {
        let length = min(preface.count, bytes.readableBytes)
        guard length > 0 else { return }
        guard let begin = bytes.readBytes(length: length), preface.starts(with: begin) else {
            throw HTTP2ConnectionError(.protocolError, "it does not begin as HTTP/2 does")
        }
        preface = preface.dropFirst(length)
    }

    // MARK: Writing

    /// Writes what was gathered at the end of this turn, so that the replies of many streams leave together.
    private func planFlush(_ context: ChannelHandlerContext) {
        guard !isReading, !isFlushPlanned else { return }
        isFlushPlanned = true
        context.eventLoop.executeAfterJobs { [self] in
            isFlushPlanned = false
            if let context = self.context { flush(context) }
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard out.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(out), promise: nil)
        out.clear()
    }
}
