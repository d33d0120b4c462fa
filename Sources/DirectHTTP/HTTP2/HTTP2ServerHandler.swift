// SPDX-License-Identifier: Apache-2.0

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
        package internal(set) var stream: UInt32
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

    /// A request and its reply, until the stream has ended.
    struct Pending {
        /// Nil once it was handed over.
        var request: Request?
        var isReplied = false
        /// When the request, or the reply, began.
        var since: NIODeadline
    }

    /// What a connection keeps for its next replies.
    private static let keptCapacity = 128 * 1024

    let limits: Limits
    private let onRequest: (Request) -> Void
    let onCancel: (UInt32) -> Void
    private(set) var context: ChannelHandlerContext?

    var connection: HTTP2ServerConnection
    var pending: [UInt32: Pending] = [:]
    private var isReading = false
    private var hasEnded = false

    /// When the client let replies pile up; nil: it reads them.
    private var stalledSince: NIODeadline?
    /// When the last stream ended, or the connection began.
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var watch: Scheduled<Void>?
    private var block = ByteBuffer()
    private var isFlushPlanned = false

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
        var rules = HTTP2ServerConnection.Limits()
        rules.streams = limits.streams
        // One octet more than is read, so that too much is noticed.
        rules.streamWindow = limits.body + 1
        rules.block = limits.head
        rules.listSize = limits.head
        connection = HTTP2ServerConnection(role: .server, limits: rules)
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
        guard let context, context.channel.isActive, pending[id] != nil else { return }
        block.clear()
        connection.encoder.begin(into: &block)
        connection.encoder.encode(":status", String(status), .incremental, into: &block)
        for field in fields {
            connection.encoder.encode(field.name, field.value, field.repeats ? .incremental : .none, into: &block)
        }
        pending[id]?.request = nil
        pending[id]?.isReplied = true
        pending[id]?.since = context.eventLoop.now
        connection.reply(&block, to: id, endStream: body.isEmpty)
        if body.isEmpty {
            settle(id)
        } else {
            connection.send(ByteBuffer(bytes: body), on: id, isLast: true)
            sendQueued()
        }
        planFlush(context)
    }

    /// Tells the client to open no more streams here. Those that are open go on.
    package func sayGoodbye() {
        guard let context else { return }
        connection.goAway(.noError, isGraceful: true)
        flush(context)
    }

    /// A frame of each stream in turn, as far as the windows go.
    private func sendQueued() {
        while let id = connection.writeNextFrame() { settle(id) }
    }

    // MARK: Streams

    /// Hands a request over that came whole, or that is too large.
    func handOver(_ id: UInt32) {
        guard let request = pending[id]?.request else { return }
        pending[id]?.request = nil
        onRequest(request)
    }

    /// Forgets a stream that has ended, and notes when a reply was sent whole.
    func settle(_ id: UInt32) {
        let stream = connection.streams[id]
        if stream == nil { pending[id] = nil }
        if stream?.isLocalEnded ?? true, let context { quietSince = context.eventLoop.now }
    }

    // MARK: Channel events

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        quietSince = context.eventLoop.now
        planWatch(context)
        flush(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        watch?.cancel()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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

    package func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        sendQueued()
        flush(context)
        context.fireChannelReadComplete()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A client that does not read its replies is not read either: they would pile up.
        try? context.channel.syncOptions?.setOption(.autoRead, value: context.channel.isWritable)
        stalledSince = context.channel.isWritable ? nil : context.eventLoop.now
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        watch?.cancel()
        for id in pending.keys { forget(id) }
        context.fireChannelInactive()
    }

    // MARK: Time

    /// Looks from time to time, and not at a moment of each stream's own: there may be hundreds.
    private func planWatch(_ context: ChannelHandlerContext) {
        let shortest = min(limits.requestTime, limits.replyTime, limits.idleTime)
        watch = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(shortest.nanoseconds / 2)) {
            [weak self] in
            guard let self, let context = self.context else { return }
            guard !isOverdue(context.eventLoop.now) else { return end(context, .noError) }
            planWatch(context)
        }
    }

    /// Whether the client has let a limit pass.
    private func isOverdue(_ now: NIODeadline) -> Bool {
        if let stalledSince, now - stalledSince >= limits.replyTime { return true }
        guard !pending.isEmpty else { return now - quietSince >= limits.idleTime }
        return pending.contains { id, exchange in
            let isOverrun = exchange.isReplied && connection.streams[id]?.isLocalEnded == true
            if exchange.request != nil || isOverrun { return now - exchange.since >= limits.requestTime }
            return exchange.isReplied && now - exchange.since >= limits.replyTime
        }
    }

    private func end(_ context: ChannelHandlerContext, _ code: HTTP2ErrorCode) {
        hasEnded = true
        connection.goAway(code)
        flush(context)
        context.close(promise: nil)
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
        guard connection.out.readableBytes > 0 else { return }
        var frames = ByteBuffer()
        swap(&frames, &connection.out)
        context.writeAndFlush(wrapOutboundOut(frames), promise: nil)
        // The memory is used again where the socket or TLS is done with it, unless there was much to say once.
        guard connection.out.readableBytes == 0, frames.storageCapacity <= Self.keptCapacity else { return }
        frames.clear()
        swap(&frames, &connection.out)
    }
}
