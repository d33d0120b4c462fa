// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import NIOCore
import NIOPosix

/// The body of a response as a stream. The socket is read only as fast as the body is consumed.
///
/// The body can be read once; reading it again after its end fails with `invalidRequest`. Reading it to the end or calling
/// ``discard(upTo:)`` returns the connection to the pool; dropping the body before its end closes the connection.
///
/// A server may accept a request with a 2xx status before it has read the request's body. The response's body then ends when the
/// request's body is sent, and dropping the response ends the upload.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A decoded piece; never empty.
    public typealias Element = ByteBuffer

    private let source: Source
    let codings: [ContentCoding]

    /// Whether the pieces are decoded. `Content-Encoding` and `Content-Length` then do not describe them.
    package var isDecoded: Bool { !codings.isEmpty }

    init(exchange: Exchange, codings: [ContentCoding]) {
        source = .exchange(BodyOwner(exchange: exchange))
        self.codings = codings
    }

    private init(_ bytes: ByteBuffer) {
        source = .bytes(NIOLockedValueBox<ByteBuffer?>(bytes))
        codings = []
    }

    /// A body without a server, for interceptors and tests. It can be read once, like every other body.
    public static func bytes(_ bytes: ByteBuffer) -> ResponseBody { ResponseBody(bytes) }

    /// Reads the pieces in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: Source
        private let decoder: ContentDecoder?
        private let mistake: DirectHTTPError?

        fileprivate init(source: Source, decoder: ContentDecoder?) {
            self.source = source
            self.decoder = decoder
            let isBegun = decoder != nil && source.exchange?.isBegun == true
            mistake = source.isRead ? .bodyWasRead : isBegun ? .bodyIsBegun : nil
        }

        /// The next piece; nil at the end.
        ///
        /// - Throws: ``DirectHTTPError``, e.g. `connectionLost` if the body is incomplete.
        public mutating func next() async throws(DirectHTTPError) -> ByteBuffer? {
            try await next(isolation: #isolation)
        }

        /// The next piece, read on the caller's actor. `for try await` calls this method. A piece that is already there causes no
        /// thread change.
        ///
        /// - Parameter actor: the actor of the caller.
        /// - Throws: ``DirectHTTPError``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(DirectHTTPError) -> ByteBuffer? {
            if let mistake { throw mistake }
            guard let decoder else { return try await source.nextPiece() }
            while true {
                // The bytes at hand may expand to gigabytes. Decoding them must not outlast the request.
                if !decoder.isFinished, let exchange = source.exchange, let interruption = exchange.interruption {
                    exchange.cancel()
                    throw interruption
                }
                if let plain = try decoder.next() { return plain }
                guard let coded = try await source.nextPiece() else {
                    guard decoder.isFinished else {
                        throw DirectHTTPError(.undecodableBody, "the compressed body is truncated")
                    }
                    return nil
                }
                decoder.feed(coded)
            }
        }
    }

    /// Creates the iterator. It fails with `invalidRequest` if the body was already read to its end, or if it is decoded and a part
    /// of it was read.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source, decoder: codings.isEmpty ? nil : ContentDecoder(codings))
    }

    /// Collects the whole body in memory.
    ///
    /// - Parameter limit: The maximum number of bytes after decoding, at most 2 GiB. A larger body throws
    ///   `responseTooLarge` and closes the connection.
    /// - Throws: ``DirectHTTPError``; `invalidRequest` if the body was already read to its end.
    public func collect(upTo limit: Int) async throws(DirectHTTPError) -> ByteBuffer {
        guard !source.isRead else { throw .bodyWasRead }
        var whole = ByteBuffer()
        // A short body usually arrives with its head.
        if try isAllAtHand(&whole, limit) { return whole }
        var iterator = makeAsyncIterator()
        while let piece = try await iterator.next() { try append(piece, to: &whole, limit) }
        return whole
    }

    /// Collects the pieces that are already there. Returns whether they were the rest of the body.
    private func isAllAtHand(_ whole: inout ByteBuffer, _ limit: Int) throws(DirectHTTPError) -> Bool {
        guard codings.isEmpty else { return false }
        while let ready = source.pieceIfReady() {
            guard let piece = try ready.get() else { return true }
            try append(piece, to: &whole, limit)
        }
        return false
    }

    private func append(_ piece: ByteBuffer, to whole: inout ByteBuffer, _ limit: Int) throws(DirectHTTPError) {
        // A buffer holds at most 4 GiB and grows by doubling.
        let limit = Swift.min(limit, Int(Int32.max))
        guard piece.readableBytes <= limit - whole.readableBytes else {
            source.abandon()
            throw DirectHTTPError(.responseTooLarge, "the body is larger than \(limit) bytes: stream it, or allow more")
        }
        if whole.readableBytes == 0 { whole = piece } else { whole.writeImmutableBuffer(piece) }
    }

    /// Reads and discards the rest of the body so that the connection can be reused. If the rest is longer than `limit` or takes
    /// more than one second, the connection is closed instead. An upload that the server still reads is not cut off.
    ///
    /// - Parameter limit: the maximum number of bytes to read. Default 64 KiB.
    public func discard(upTo limit: Int = 64 * 1024) async {
        var count = 0
        while let ready = source.pieceIfReady() {
            guard case .success(let piece?) = ready else { return }
            count += piece.readableBytes
            if count > limit { return source.abandon() }
        }
        // A server that announces more bytes than it sends must not delay a redirect or a retry.
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: Self.discardTime) { [source] in
            if let exchange = source.exchange, !exchange.isOnlyUploading { exchange.cancel() }
        }
        defer { timer.cancel() }
        while let piece = try? await source.nextPiece() {
            count += piece.readableBytes
            if count > limit { return source.abandon() }
        }
    }

    private static let discardTime = TimeAmount.seconds(1)
}

private enum Source: Sendable {
    case exchange(BodyOwner)
    /// The rest of a body in memory; nil after a reader got the end.
    case bytes(NIOLockedValueBox<ByteBuffer?>)

    /// The exchange that receives the body; nil for a body in memory.
    var exchange: Exchange? { if case .exchange(let owner) = self { owner.exchange } else { nil } }

    func nextPiece() async throws(DirectHTTPError) -> ByteBuffer? {
        if let exchange { return try await exchange.nextPiece() }
        return try pieceIfReady()?.get()
    }

    /// The result of ``nextPiece()`` if it is available without waiting; nil otherwise.
    func pieceIfReady() -> Exchange.PieceResult? {
        switch self {
        case .exchange(let owner):
            return owner.exchange.takePiece()
        case .bytes(let body):
            let piece = body.withLockedValue { rest -> ByteBuffer? in
                guard let piece = rest, piece.readableBytes > 0 else {
                    rest = nil
                    return nil
                }
                rest = ByteBuffer()
                return piece
            }
            return .success(piece)
        }
    }

    /// Whether a reader got the end of the body.
    var isRead: Bool {
        switch self {
        case .exchange(let owner): owner.exchange.isRead
        case .bytes(let body): body.withLockedValue { $0 == nil }
        }
    }

    /// Cancels the exchange after a part of the body was dropped. A later reader must not take the rest for the whole.
    func abandon() {
        switch self {
        case .exchange(let owner):
            owner.exchange.cancel()
            owner.exchange.markRead()
        case .bytes(let body):
            body.withLockedValue { $0 = nil }
        }
    }
}

/// Cancels the exchange when the last reference to its body is gone.
private final class BodyOwner: Sendable {
    let exchange: Exchange

    init(exchange: Exchange) { self.exchange = exchange }

    deinit { exchange.cancel() }
}
