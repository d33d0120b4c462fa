// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import HTTPTypes
import HTTPWire
import NIOCore

/// The server side of an HTTP/2 connection (RFC 9113) for requests and replies that are handled whole, such as those of DNS. A
/// stream is a table entry, not a channel.
///
/// Frames are handled in `HTTP2ServerHandler+Reading.swift`. All methods run on the connection's event loop.
final class HTTP2ServerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Request {
        let stream: UInt32
        /// Whether the reply has content. That to HEAD has none.
        let hasContent: Bool
        /// Its body has at most the allowed size.
        var question: ServerRequest
        /// Nil without a tracer.
        let trace: TraceFields?
        /// Whether the body exceeds the allowed size. Such a request is handed over before its end.
        var isTooLarge = false

        private static let xForwardedFor = HTTPField.Name("X-Forwarded-For")
        private static let traceparent = HTTPField.Name("traceparent")
        private static let tracestate = HTTPField.Name("tracestate")

        init(_ head: HTTP2HeaderBlock, stream: UInt32, ends: ConnectionEnds, isTraced: Bool) {
            self.stream = stream
            hasContent = head.method != "HEAD"
            question = ServerRequest(
                ServerRequest.Method(head.method ?? ""),
                target: head.path ?? "",
                contentType: head.fields[.contentType],
                client: ends.client(Self.xForwardedFor.flatMap { head.fields[$0] }),
                local: ends.local
            )
            if isTraced, let parent = Self.traceparent, let state = Self.tracestate {
                let states = head.fields[values: state].joined(separator: ",")
                trace = TraceFields(parent: head.fields[values: parent].first, state: states)
            } else {
                trace = nil
            }
        }
    }

    /// A request or its reply, until the stream ends.
    struct Pending {
        /// Nil after the request was handed over.
        var request: Request?
        /// Waits for an upstream. Nil before that, and after the reply.
        var work: Task<Void, Never>?
        var isReplied = false
        /// When the request or the reply began.
        var since: NIODeadline
    }

    /// The largest write buffer that a connection keeps, in bytes.
    private static let keptCapacity = 128 * 1024
    /// The bytes of frames that may wait for a write before no more content is framed.
    private static let maxUnwritten = 64 * 1024

    /// The largest body of a request, in bytes.
    let maxBody: Int
    /// The maximum time from a request's header block to its end.
    private let requestTime: TimeAmount
    /// The time that a client may take to read a reply.
    private let replyTime: TimeAmount
    /// The maximum time without a request. Other frames, such as PING, do not extend it.
    private let idleTime: TimeAmount
    let ends: ConnectionEnds
    let isTraced: Bool
    private let onRequest: (Request, HTTP2ServerHandler) -> Task<Void, Never>?
    private(set) var context: ChannelHandlerContext?

    var connection: HTTP2Connection
    var pending: [UInt32: Pending] = [:]
    private var isReading = false
    private var hasEnded = false
    /// Whether to close the connection when the replies have left.
    private var isFinishing = false

    /// When the socket became unwritable because the client does not read; nil while it is writable.
    private var stalledSince: NIODeadline?
    /// When the last stream ended, or when the connection began.
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var watch: Scheduled<Void>?
    private var block = ByteBuffer()
    private var isFlushPlanned = false

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - onRequest: receives each request. The reply is sent with ``reply(_:fields:body:to:)``, at once or later. Returns the
    ///     task that will reply, which is cancelled if the reply is no longer needed; nil if there is none.
    init(
        _ configuration: ServerConfiguration,
        ends: ConnectionEnds,
        maxBody: Int = ServerRequest.maxBody,
        onRequest: @escaping (Request, HTTP2ServerHandler) -> Task<Void, Never>?
    ) {
        self.ends = ends
        self.maxBody = maxBody
        requestTime = TimeAmount(limit: configuration.requestTimeout)
        replyTime = TimeAmount(limit: configuration.replyTimeout)
        idleTime = TimeAmount(limit: configuration.idleTimeout)
        isTraced = configuration.tracer != nil
        self.onRequest = onRequest
        var rules = HTTP2Connection.Limits()
        rules.streams = configuration.streamsPerConnection
        // One byte more than the body limit, so that a larger body is detected.
        rules.streamWindow = maxBody + 1
        // Room to read a request with too large fields, which then gets 431.
        rules.block = 4 * rules.listSize
        connection = HTTP2Connection(role: .server, limits: rules)
    }

    // MARK: Replies

    /// Replies on a stream; does nothing if the stream has ended.
    ///
    /// - Parameter fields: names in lower case, values, and whether later replies repeat the field.
    func reply(
        _ status: Int,
        fields: [(name: String, value: String, repeats: Bool)],
        body: [UInt8],
        to id: UInt32
    ) {
        guard let context, context.channel.isActive, pending[id] != nil else { return }
        // Many requests may have arrived before their replies filled the room.
        if !body.isEmpty, connection.heldBytes > connection.limits.heldBytes {
            connection.reset(id, .refusedStream)
            pending[id] = nil
            return planFlush(context)
        }
        block.clear()
        connection.encoder.begin(into: &block)
        connection.encoder.encode(":status", value: String(status), indexing: .incremental, into: &block)
        for field in fields {
            connection.encoder.encode(
                field.name,
                value: field.value,
                indexing: field.repeats ? .incremental : .none,
                into: &block
            )
        }
        pending[id] = Pending(isReplied: true, since: context.eventLoop.now)
        connection.reply(&block, to: id, endStream: body.isEmpty)
        if body.isEmpty {
            removeIfEnded(id)
        } else {
            connection.send(ByteBuffer(bytes: body), on: id, isLast: true)
            sendQueued(context)
        }
        planFlush(context)
    }

    /// Tells the client to open no more streams. Open streams continue.
    func sendGoAway() {
        guard let context else { return }
        connection.goAway(.noError, isGraceful: true)
        flush(context)
    }

    /// Sends the last frames of a connection that the caller closes although replies are missing.
    func abandon() {
        guard let context, !hasEnded else { return }
        sendLastFrames(context)
    }

    /// Closes the connection when the replies to the requests so far have left. Does not wait for the rest of a request.
    func finish() {
        guard let context else { return }
        isFinishing = true
        flush(context)
    }

    /// Frames queued content, one frame of each stream in turn, as far as the windows and the socket allow. An unsent reply
    /// keeps its stream open and counts as held, so those two limits bound the replies that a client does not read.
    private func sendQueued(_ context: ChannelHandlerContext) {
        while context.channel.isWritable, connection.out.readableBytes < Self.maxUnwritten, !hasEnded,
            let id = connection.writeNextFrame()
        {
            removeIfEnded(id)
        }
    }

    // MARK: Streams

    /// Passes on a request that is complete or too large.
    func handOver(_ id: UInt32) {
        guard let request = pending[id]?.request else { return }
        pending[id]?.request = nil
        connection.heldBytes -= request.question.body.count
        let work = onRequest(request, self)
        // The stream may have ended with a reply that was sent at once.
        pending[id]?.work = work
    }

    /// Removes a stream if it has ended, and records when a reply was completed.
    func removeIfEnded(_ id: UInt32) {
        let stream = connection.streams[id]
        if stream == nil { pending[id] = nil }
        if stream?.isLocalEnded ?? true, let context { quietSince = context.eventLoop.now }
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        quietSince = context.eventLoop.now
        planWatch(context)
        flush(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        watch?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        isReading = true
        connection.isBlocked = !context.channel.isWritable
        do throws(HTTP2ConnectionError) {
            try connection.feed(unwrapInboundIn(data))
            try takeEvents(now: context.eventLoop.now)
        } catch {
            end(context, error.code)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        flush(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // Do not read from a client that does not read its replies, or they would pile up.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        stalledSince = context.channel.isWritable ? nil : context.eventLoop.now
        if context.channel.isWritable { flush(context) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        watch?.cancel()
        for id in pending.keys { forget(id) }
        context.fireChannelInactive()
    }

    // MARK: Time

    /// Checks the limits periodically, instead of with one timer per stream: there may be hundreds of streams.
    private func planWatch(_ context: ChannelHandlerContext) {
        let shortest = min(requestTime, replyTime, idleTime)
        let interval = max(TimeAmount.nanoseconds(shortest.nanoseconds / 2), .milliseconds(1))
        watch = context.eventLoop.assumeIsolated().scheduleTask(in: interval) {
            [weak self] in
            guard let self, let context = self.context else { return }
            let now = context.eventLoop.now
            guard !isOverdue(now) else { return end(context, .noError) }
            resetOverdue(now, context)
            planWatch(context)
        }
    }

    /// Whether the client does not read from the socket, or sends no request, for too long.
    private func isOverdue(_ now: NIODeadline) -> Bool {
        if let stalledSince, now - stalledSince >= replyTime { return true }
        return pending.isEmpty && now - quietSince >= idleTime
    }

    /// Resets the streams whose request or reply takes too long. The others may belong to other clients of a proxy.
    private func resetOverdue(_ now: NIODeadline, _ context: ChannelHandlerContext) {
        let overdue = pending.filter { id, exchange in
            let isOverrun = exchange.isReplied && connection.streams[id]?.isLocalEnded == true
            if exchange.request != nil || isOverrun { return now - exchange.since >= requestTime }
            return exchange.isReplied && now - exchange.since >= replyTime
        }
        guard !overdue.isEmpty else { return }
        for id in overdue.keys {
            // NO_ERROR after a complete reply only stops the upload (RFC 9113 §8.1).
            connection.reset(id, connection.streams[id]?.isLocalEnded == true ? .noError : .cancel)
            forget(id)
        }
        flush(context)
    }

    private func end(_ context: ChannelHandlerContext, _ code: HTTP2ErrorCode) {
        hasEnded = true
        connection.goAway(code)
        flush(context)
        context.close(promise: nil)
    }

    // MARK: Writing

    /// Writes the buffered frames at the end of this event loop turn, so that replies of several streams share one write.
    private func planFlush(_ context: ChannelHandlerContext) {
        guard !isReading, !isFlushPlanned else { return }
        isFlushPlanned = true
        context.eventLoop.executeAfterJobs { [self] in
            isFlushPlanned = false
            if let context = self.context { flush(context) }
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        writeFrames(context)
        guard isFinishing, !hasEnded, !owesReplies else { return }
        sendLastFrames(context)
        // Writes complete in order, so all frames have left when this one completes.
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    /// Tells the client which requests it may repeat: refused ones, and those after GOAWAY's last stream (RFC 9113 §6.8).
    private func sendLastFrames(_ context: ChannelHandlerContext) {
        hasEnded = true
        for (id, exchange) in pending where exchange.request != nil { connection.reset(id, .refusedStream) }
        connection.goAway(.noError)
        writeFrames(context)
    }

    /// Whether a delivered request has no complete reply yet.
    private var owesReplies: Bool {
        pending.contains { id, exchange in exchange.request == nil && connection.streams[id]?.isLocalEnded != true }
    }

    private func writeFrames(_ context: ChannelHandlerContext) {
        sendQueued(context)
        while connection.out.readableBytes > 0 {
            var frames = ByteBuffer()
            swap(&frames, &connection.out)
            context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
            // Reuse the memory if the socket or TLS has released it, unless it grew large.
            if connection.out.readableBytes == 0, frames.storageCapacity <= Self.keptCapacity {
                frames.clear()
                swap(&frames, &connection.out)
            }
            sendQueued(context)
        }
    }
}
