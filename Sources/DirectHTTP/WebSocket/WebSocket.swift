// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import NIOConcurrencyHelpers
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
/// Any number of tasks may send; each message goes to one of the tasks that read. A socket that nobody holds any more is closed
/// without a close frame: ``close(_:reason:)`` is the way to end it in good order.
public final class WebSocket: Sendable {
    /// The head of the answer to the handshake.
    public let response: HTTPResponse
    /// The subprotocol that the server chose; nil: none.
    public let subprotocol: String?
    /// Whether messages may be compressed: permessage-deflate was agreed (RFC 7692).
    public let isCompressed: Bool
    /// How the connection came to be.
    public let connection: ConnectionInfo

    private let eventLoop: any EventLoop
    private let inbox: WebSocketInbox
    private let handler: NIOLoopBound<WebSocketHandler>
    private let end: WebSocketEnd

    init(
        response: HTTPResponse,
        agreement: WebSocketHandshake.Agreement,
        connection: ConnectionInfo,
        inbox: WebSocketInbox,
        handler: WebSocketHandler,
        end: WebSocketEnd,
        eventLoop: any EventLoop
    ) {
        self.response = response
        subprotocol = agreement.subprotocol
        isCompressed = agreement.deflate != nil
        self.connection = connection
        self.inbox = inbox
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        self.end = end
        self.eventLoop = eventLoop
    }

    deinit {
        eventLoop.execute { [handler] in handler.value.drop() }
    }

    /// The messages, in order; the sequence ends with the close handshake.
    public var messages: WebSocketMessages { WebSocketMessages(socket: self) }

    /// The next message; nil when the socket was closed in good order, by either side. A task that is cancelled stops waiting;
    /// the socket stays open and no message is lost.
    ///
    /// - Throws: ``DirectHTTPError``: `connectionLost` where it ended without a close frame, `malformedResponse` for a peer that
    ///   broke the protocol, `responseTooLarge` for a message beyond the limit.
    public func receive() async throws(DirectHTTPError) -> WebSocketMessage? {
        try await inbox.next()
    }

    /// Sends a message, and returns when the kernel has taken it: who sends faster than the peer reads is held up. A message
    /// whose sender is cancelled is still sent.
    ///
    /// - Throws: ``DirectHTTPError``: `webSocketClosed` after a close, `connectionLost` where the connection broke.
    public func send(_ message: WebSocketMessage) async throws(DirectHTTPError) {
        let done = OneShot<Void>()
        eventLoop.execute { [handler] in handler.value.send(message, done: done) }
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

    /// Sends a PING and returns how long its PONG took. It needs nobody to read ``messages``, as long as they do not fill their
    /// buffer.
    ///
    /// - Throws: ``DirectHTTPError``.
    public func ping() async throws(DirectHTTPError) -> Duration {
        let begin = NIODeadline.now()
        let answered = OneShot<Void>()
        eventLoop.execute { [handler] in handler.value.ping(answered) }
        try await answered.value(orCancelled: "waiting for a PONG was cancelled")
        return Duration(NIODeadline.now() - begin)
    }

    /// Closes the socket by the close handshake, and returns when it is gone: at the latest when
    /// ``WebSocketSettings/closeTimeout`` is over. Messages that came before can still be read; those that found no room in
    /// ``WebSocketSettings/bufferedBytes`` are dropped.
    ///
    /// - Parameters:
    ///   - code: the code; one that must not be sent leaves the frame empty.
    ///   - reason: cut at 123 bytes.
    public func close(_ code: WebSocketCloseCode = .normal, reason: String = "") async {
        eventLoop.execute { [handler] in handler.value.close(WebSocketClosure(code: code, reason: reason)) }
        await end.wait()
    }

    /// The peer's close frame; nil before it came, and where the socket ended without one.
    public var closure: WebSocketClosure? { end.closure }
}

/// The messages of a ``WebSocket``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = WebSocketMessage

    let socket: WebSocket

    /// Takes messages, in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let socket: WebSocket

        /// The next message; nil when the socket was closed.
        ///
        /// - Throws: ``DirectHTTPError``.
        public mutating func next() async throws(DirectHTTPError) -> WebSocketMessage? {
            try await socket.receive()
        }

        /// The next message, for a caller who stays on its actor: this is what `for try await` calls.
        ///
        /// - Parameter actor: where the caller runs.
        /// - Throws: ``DirectHTTPError``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DirectHTTPError) -> WebSocketMessage? {
            try await socket.receive()
        }
    }

    /// Readers share the messages: each goes to one of them.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }
}

/// How a socket ended, and who waits for that.
final class WebSocketEnd: Sendable {
    private struct State {
        var isOver = false
        var closure: WebSocketClosure?
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    /// Guards the end and who waits for it.
    private let state = NIOLockedValueBox(State())

    var closure: WebSocketClosure? { state.withLockedValue(\.closure) }

    func peerClosed(_ closure: WebSocketClosure) {
        state.withLockedValue { $0.closure = closure }
    }

    func came() {
        let waiters = state.withLockedValue { state in
            state.isOver = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withUnsafeContinuation { (waiter: UnsafeContinuation<Void, Never>) in
            let isOver = state.withLockedValue { state in
                if !state.isOver { state.waiters.append(waiter) }
                return state.isOver
            }
            if isOver { waiter.resume() }
        }
    }
}
