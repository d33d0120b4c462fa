// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore

/// The bytes of one connection, for code that plays the server, or the client of ``connect(to:tls:within:)``.
///
/// ```swift
/// let server = try await RawServer.start { connection in
///     _ = try await connection.receive(until: "\r\n\r\n")
///     try await connection.send("HTTP/1.1 200 OK\r\nContent-Len")
///     try await connection.reset()
/// }
/// ```
///
/// With TLS, these are the decrypted bytes. Only one task may receive at a time.
package final class RawConnection: Sendable {
    /// The addresses of the connection and the results of its handshake.
    package let info: ReceivedRequest.Connection

    let channel: any Channel
    private let inbox: Inbox<ByteBuffer>
    /// The bytes taken from the inbox and not yet returned. Locked because the compiler cannot enforce a single receiver.
    private let rest = NIOLockedValueBox(ByteBuffer())

    init(info: ReceivedRequest.Connection, channel: any Channel, inbox: Inbox<ByteBuffer>) {
        self.info = info
        self.channel = channel
        self.inbox = inbox
    }

    // MARK: Receiving

    /// All bytes received so far, at least one; nil if the peer has closed.
    package func receive() async throws -> [UInt8]? {
        guard try await fill() else { return nil }
        return rest.withLockedValue { $0.readBytes(length: $0.readableBytes) }
    }

    /// Exactly `count` bytes.
    ///
    /// - Throws: ``TestingError`` with code `closed` if the peer closes before that.
    package func receive(count: Int) async throws -> [UInt8] {
        while rest.withLockedValue({ $0.readableBytes }) < count {
            guard try await more() else {
                throw TestingError(.closed, "the peer closed before it had sent \(count) bytes")
            }
        }
        return rest.withLockedValue { $0.readBytes(length: count) ?? [] }
    }

    /// All bytes up to and including `mark`; nil if the peer closes before the first byte.
    ///
    /// - Parameter limit: The maximum number of bytes before the mark. Default 1 MiB.
    /// - Parameter mark: The text to stop at, which the result includes.
    /// - Throws: ``TestingError`` with code `closed`, or `badInput` beyond the limit.
    package func receive(until mark: String, limit: Int = 1 << 20) async throws -> [UInt8]? {
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

    /// Reads and discards until the peer closes. Returns the number of bytes.
    @discardableResult
    package func drain() async throws -> Int {
        var count = 0
        while let bytes = try await receive() { count += bytes.count }
        return count
    }

    /// Waits without reading or writing until the client closes or the server stops. Full socket buffers block a client that
    /// sends much.
    package func hold() async throws {
        _ = try await Watched(false).wait { $0 }
    }

    // MARK: Sending

    /// Sends bytes and returns when the kernel has accepted them.
    package func send(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Sends text as UTF-8.
    package func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Sends the same text repeatedly until `total` bytes are sent or the client closes.
    ///
    /// - Parameter total: The maximum number of bytes, so that a client without limits cannot exhaust the machine. Default 64
    ///   MiB.
    /// - Parameter text: The text, sent as UTF-8.
    package func sendEndlessly(_ text: String, total: Int = 64 << 20) async throws {
        let text = text.isEmpty ? " " : text
        let block = ByteBuffer(string: String(repeating: text, count: max(1, 65_536 / text.utf8.count)))
        var sent = 0
        while sent < total {
            try await channel.writeAndFlush(block)
            sent += block.readableBytes
        }
    }

    // MARK: Ending

    /// Closes the sending side only (FIN); the peer can still send. The server must have set `allowsHalfClosure`.
    package func finishSending() async throws {
        try await channel.close(mode: .output)
    }

    /// Closes the connection; sends `close_notify` over TLS, then FIN.
    package func close() async {
        try? await channel.close().get()
    }

    /// Closes the socket (FIN) without `close_notify`. Over TLS, the client sees a truncated stream (RFC 8446 §6.1).
    package func cut() async {
        try? await channel.cut().get()
    }

    /// Resets the connection (RST) by a linger time of zero.
    package func reset() async {
        try? await channel.resetAtClose().get()
        await cut()
    }

    /// Waits for at least one unread byte; false at the end.
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

/// Latin-1 has one byte for each scalar, so that invalid header fields keep their bytes.
extension String {
    init(latin1 bytes: some Sequence<UInt8>) {
        self.init(bytes.map { Character(Unicode.Scalar($0)) })
    }

    var latin1: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
