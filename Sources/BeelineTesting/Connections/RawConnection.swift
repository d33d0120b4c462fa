// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// One accepted connection as bytes, for the code that plays the server's part on it.
///
/// ```swift
/// let server = try await RawServer.start { connection in
///     _ = try await connection.receive(until: "\r\n\r\n")
///     try await connection.send("HTTP/1.1 200 OK\r\nContent-Len")
///     try await connection.reset()
/// }
/// ```
///
/// Where the server has TLS, these are the bytes inside it. At most one task may receive at a time.
public final class RawConnection: Sendable {
    /// Where it came from.
    public let info: ConnectionInfo

    let channel: any Channel
    private let inbox: Inbox<ByteBuffer>
    /// What was read from the inbox and not asked for yet. Locked, because only the type's rule keeps two tasks apart.
    private let rest = NIOLockedValueBox(ByteBuffer())

    init(info: ConnectionInfo, channel: any Channel, inbox: Inbox<ByteBuffer>) {
        self.info = info
        self.channel = channel
        self.inbox = inbox
    }

    // MARK: Receiving

    /// The next bytes, as many as have come; nil when the peer has closed.
    public func receive() async throws -> [UInt8]? {
        guard try await fill() else { return nil }
        return rest.withLockedValue { $0.readBytes(length: $0.readableBytes) }
    }

    /// Exactly `count` bytes.
    ///
    /// - Throws: ``TestingError`` with code `closed` when the peer closes before.
    public func receive(count: Int) async throws -> [UInt8] {
        while rest.withLockedValue({ $0.readableBytes }) < count {
            guard try await more() else {
                throw TestingError(.closed, "the peer closed before it had sent \(count) bytes")
            }
        }
        return rest.withLockedValue { $0.readBytes(length: count) ?? [] }
    }

    /// All bytes up to the end of `mark`, which is part of the result; nil when the peer closes before the first one.
    ///
    /// - Parameter limit: how many bytes may come before the mark.
    /// - Parameter mark: the text at which to stop; it is part of what is returned.
    /// - Throws: ``TestingError`` with code `closed` or, beyond the limit, `badInput`.
    public func receive(until mark: String, limit: Int = 1 << 20) async throws -> [UInt8]? {
        let mark = Array(mark.utf8)
        var searched = 0
        while true {
            let found = rest.withLockedValue { rest -> [UInt8]? in
                let view = rest.readableBytesView
                var start = view.startIndex + max(0, searched - mark.count + 1)
                while start + mark.count <= view.endIndex {
                    if view[start..<start + mark.count].elementsEqual(mark) {
                        return rest.readBytes(length: start + mark.count - view.startIndex)
                    }
                    start += 1
                }
                searched = view.count
                return nil
            }
            if let found { return found }
            guard searched <= limit else {
                throw TestingError(.badInput, "more than \(limit) bytes without the mark that should end them")
            }
            guard try await more() else {
                if searched == 0 { return nil }
                throw TestingError(.closed, "the peer closed after \(searched) bytes of an unfinished message")
            }
        }
    }

    /// Reads and forgets until the peer closes; returns how many bytes came.
    @discardableResult
    public func drain() async throws -> Int {
        var count = 0
        while let bytes = try await receive() { count += bytes.count }
        return count
    }

    /// Neither reads nor writes until the client closes or the server stops. A client that sends much is stopped by
    /// full socket buffers.
    public func hold() async throws {
        _ = try await Watched(false).wait { $0 }
    }

    // MARK: Sending

    /// Sends bytes, and returns when the kernel has taken them.
    public func send(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Sends text in UTF-8.
    public func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Sends the same bytes again and again until `total` bytes are out or the client closes.
    ///
    /// - Parameter total: the bound, so that a client without limits ends the test and not the machine.
    /// - Parameter text: what is sent, in UTF-8.
    public func sendEndlessly(_ text: String, total: Int = 64 << 20) async throws {
        let text = text.isEmpty ? " " : text
        let block = ByteBuffer(string: String(repeating: text, count: max(1, 65_536 / text.utf8.count)))
        var sent = 0
        while sent < total {
            try await channel.writeAndFlush(block)
            sent += block.readableBytes
        }
    }

    // MARK: Ending

    /// Ends the sending side only (FIN); the client can still send. Needs a server with `allowsHalfClosure`.
    public func finishSending() async throws {
        try await channel.close(mode: .output)
    }

    /// Closes: over TLS with a `close_notify`, then FIN.
    public func close() async {
        try? await channel.close().get()
    }

    /// Closes the socket (FIN) and, over TLS, sends no `close_notify`: to the client the stream is truncated
    /// (RFC 8446 §6.1).
    public func cut() async {
        try? await channel.cut().get()
    }

    /// Resets the connection (RST), by a linger time of zero.
    public func reset() async {
        try? await channel.resetAtClose().get()
        await cut()
    }

    /// Makes sure that there is an unread byte; false at the end.
    private func fill() async throws -> Bool {
        if rest.withLockedValue({ $0.readableBytes > 0 }) { return true }
        return try await more()
    }

    /// Takes one more buffer from the inbox; false at the end.
    private func more() async throws -> Bool {
        guard var next = try await inbox.next() else { return false }
        if inbox.startsAgain() { channel.read() }
        rest.withLockedValue { rest in
            rest.discardReadBytes()
            _ = rest.writeBuffer(&next)
        }
        return true
    }
}
