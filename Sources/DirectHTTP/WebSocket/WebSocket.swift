// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import NIOCore

/// An open WebSocket (RFC 6455).
///
/// ```swift
/// let socket = try await client.webSocket("wss://www.example.com/live")
/// try await socket.send("hello")
/// for try await message in socket.messages {
///     if case .text(let text) = message { print(text) }
/// }
/// await socket.close()
/// ```
///
/// Several tasks may send. Each received message goes to one of the tasks that read. If the last reference to a socket is
/// released, it is closed without a close frame; use ``close(_:reason:)`` for a proper close.
public final class WebSocket: Sendable {
    /// The head of the server's response to the handshake.
    public let response: HTTPResponse
    /// The subprotocol that the server chose; nil if it chose none.
    public let subprotocol: String?
    /// Whether messages may be compressed: the server accepted permessage-deflate (RFC 7692).
    package let isCompressed: Bool
    /// Describes how the connection was made.
    public let connection: ConnectionInfo

    private let channel: any Channel
    let inbox: WebSocketInbox
    private let handler: NIOLoopBound<WebSocketHandler>

    init(
        response: HTTPResponse,
        agreement: WebSocketHandshake.Agreement,
        connection: ConnectionInfo,
        inbox: WebSocketInbox,
        handler: WebSocketHandler,
        channel: any Channel
    ) {
        self.response = response
        subprotocol = agreement.subprotocol
        isCompressed = agreement.deflate != nil
        self.connection = connection
        self.inbox = inbox
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.channel = channel
    }

    deinit {
        channel.eventLoop.execute { [handler] in handler.value.drop() }
    }

    /// The messages, in order. The sequence ends with the close handshake.
    public var messages: WebSocketMessages { WebSocketMessages(socket: self) }

    /// The next message; nil after a proper close by either side. A cancelled task stops waiting; the socket stays open and no
    /// message is lost.
    ///
    /// - Throws: ``DirectHTTPError``: `connectionLost` if the socket ended without a close frame, `malformedResponse` if the peer
    ///   violated the protocol, `responseTooLarge` for a message over the limit.
    public func receive() async throws(DirectHTTPError) -> WebSocketMessage? {
        try await inbox.next()
    }

    /// Sends a message, and returns when the kernel has accepted it, so senders wait for a slow peer. Cancellation does not stop
    /// the message from being sent.
    ///
    /// - Throws: ``DirectHTTPError``: `webSocketClosed` after a close, `connectionLost` if the connection fails.
    public func send(_ message: WebSocketMessage) async throws(DirectHTTPError) {
        let done = OneShot<Void>()
        channel.eventLoop.execute { [handler] in handler.value.send(message, done: done) }
        try await done.value(orCancelled: "waiting for the message to be sent was cancelled")
    }

    /// Sends text.
    ///
    /// - Throws: ``DirectHTTPError``, as for any message.
    public func send(_ text: String) async throws(DirectHTTPError) {
        try await send(.text(text))
    }

    /// Sends bytes.
    ///
    /// - Throws: ``DirectHTTPError``, as for any message.
    public func send(_ bytes: ByteBuffer) async throws(DirectHTTPError) {
        try await send(.binary(bytes))
    }

    /// Sends a PING and returns the time until its PONG. It works without a reader of ``messages`` unless their buffer is full.
    /// The wait has no time limit: cancel the task to end it. With ``WebSocketSettings/pingInterval``, it also ends
    /// when a silent server is disconnected.
    ///
    /// - Throws: ``DirectHTTPError``.
    public func ping() async throws(DirectHTTPError) -> Duration {
        let begin = NIODeadline.now()
        let answered = OneShot<Void>()
        channel.eventLoop.execute { [handler] in handler.value.ping(answered) }
        try await answered.value(orCancelled: "waiting for a PONG was cancelled")
        return Duration(NIODeadline.now() - begin)
    }

    /// Closes the socket with the close handshake, and returns when it is closed, at the latest after
    /// ``WebSocketSettings/closeTimeout``. Messages that arrived before can still be read, except those beyond
    /// ``WebSocketSettings/bufferedBytes``, which are dropped.
    ///
    /// - Parameters:
    ///   - code: the close code. The frame is sent without a code if this one must not be sent.
    ///   - reason: truncated to 123 bytes.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") async {
        channel.eventLoop.execute { [handler] in handler.value.close(WebSocketClosure(code: code, reason: reason)) }
        try? await channel.closeFuture.get()
    }

    /// The peer's close frame; nil until it arrives, and if the socket ended without one.
    public var closure: WebSocketClosure? { inbox.closure }
}

/// The messages of a ``WebSocket``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = WebSocketMessage

    let socket: WebSocket

    /// Takes messages, in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let socket: WebSocket

        /// The next message; nil if the socket is closed.
        ///
        /// - Throws: ``DirectHTTPError``.
        public mutating func next() async throws(DirectHTTPError) -> WebSocketMessage? {
            try await socket.receive()
        }

        /// The next message, on the caller's actor. `for try await` calls this method.
        ///
        /// - Parameter actor: the caller's actor.
        /// - Throws: ``DirectHTTPError``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DirectHTTPError) -> WebSocketMessage? {
            try await socket.receive()
        }
    }

    /// Makes an iterator. Iterators share the messages: each message goes to one of them.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }
}
