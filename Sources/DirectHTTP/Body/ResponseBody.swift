// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import NIOCore
import NIOPosix

/// The body of a response, streamed: the socket is read only as fast as the body is taken.
///
/// It can be read once. A body that is dropped before its end closes its connection; one that is read to the end (or
/// ``discard(upTo:)``-ed) gives it back to the pool.
public struct ResponseBody: AsyncSequence, Sendable {
    /// A piece as it came, decoded; never empty.
    public typealias Element = ByteBuffer

    private let source: Source
    let codings: [Inflater.Coding]

    init(exchange: Exchange, codings: [Inflater.Coding]) {
        source = .exchange(BodyOwner(exchange: exchange))
        self.codings = codings
    }

    private init(_ bytes: ByteBuffer) {
        source = .bytes(NIOLockedValueBox(bytes))
        codings = []
    }

    /// A body that no server sent: what an interceptor answers with, or a test. Like any other it can be read once.
    public static func bytes(_ bytes: ByteBuffer) -> ResponseBody { ResponseBody(bytes) }

    /// Reads the pieces, in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: Source
        private let decoder: ContentDecoder?

        fileprivate init(source: Source, decoder: ContentDecoder?) {
            self.source = source
            self.decoder = decoder
        }

        /// The next piece; nil at the end.
        ///
        /// - Throws: ``DirectHTTPError``, e.g. `connectionLost` where the body is cut short.
        public mutating func next() async throws(DirectHTTPError) -> ByteBuffer? {
            try await next(isolation: #isolation)
        }

        /// The next piece, for a caller who stays on its actor: this is what `for try await` calls. A piece that is there costs no
        /// change of threads.
        ///
        /// - Parameter actor: where the caller runs.
        /// - Throws: ``DirectHTTPError``.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DirectHTTPError) -> ByteBuffer? {
            guard let decoder else { return try await source.nextPiece() }
            while true {
                if let plain = try decoder.next() { return plain }
                guard let coded = try await source.nextPiece() else {
                    guard decoder.isFinished else {
                        throw DirectHTTPError(.undecodableBody, "the coded body is cut short")
                    }
                    return nil
                }
                decoder.feed(coded)
            }
        }
    }

    /// The one reading of the body.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(source: source, decoder: codings.isEmpty ? nil : ContentDecoder(codings))
    }

    /// The whole body in memory.
    ///
    /// - Parameter limit: bytes after decoding; a larger body throws `responseTooLarge` and closes the connection.
    public func collect(upTo limit: Int) async throws(DirectHTTPError) -> ByteBuffer {
        var whole = ByteBuffer()
        // A short body came with its head most often.
        if try isAllAtHand(&whole, limit) { return whole }
        var iterator = makeAsyncIterator()
        while let piece = try await iterator.next() { try append(piece, to: &whole, limit) }
        return whole
    }

    /// Collects what need not be waited for; whether that was the rest.
    @inline(never)
    private func isAllAtHand(_ whole: inout ByteBuffer, _ limit: Int) throws(DirectHTTPError) -> Bool {
        guard codings.isEmpty else { return false }
        while let ready = source.atHand() {
            guard let piece = try ready.get() else { return true }
            try append(piece, to: &whole, limit)
        }
        return false
    }

    private func append(_ piece: ByteBuffer, to whole: inout ByteBuffer, _ limit: Int) throws(DirectHTTPError) {
        // A buffer has room for 4 GiB, and grows by doubling.
        let limit = Swift.min(limit, Int(Int32.max))
        guard piece.readableBytes <= limit - whole.readableBytes else {
            source.cancel()
            throw DirectHTTPError(
                .responseTooLarge,
                "the body is larger than \(limit) bytes: stream it, or allow more"
            )
        }
        if whole.readableBytes == 0 { whole = piece } else { whole.writeImmutableBuffer(piece) }
    }

    /// Reads a short rest so that the connection can be kept; a long one, or one that does not come within a second, is not worth it
    /// and closes the connection.
    ///
    /// - Parameter limit: how many bytes are worth a connection. Default 64 KiB.
    public func discard(upTo limit: Int = 64 * 1024) async {
        var count = 0
        while let ready = source.atHand() {
            guard case .success(let piece?) = ready else { return }
            count += piece.readableBytes
            if count > limit { return source.cancel() }
        }
        // A server that announces more than it sends must not hold up a redirect or another try.
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: Self.discardTime) { [source] in
            source.cancel()
        }
        defer { timer.cancel() }
        while let piece = try? await source.nextPiece() {
            count += piece.readableBytes
            if count > limit { return source.cancel() }
        }
    }

    private static let discardTime = TimeAmount.seconds(1)
}

/// Where a body comes from.
private enum Source: Sendable {
    case exchange(BodyOwner)
    /// What has not been read of bytes in memory.
    case bytes(NIOLockedValueBox<ByteBuffer>)

    func nextPiece() async throws(DirectHTTPError) -> ByteBuffer? {
        if case .exchange(let owner) = self { return try await owner.exchange.nextPiece() }
        return try atHand()?.get()
    }

    /// What ``nextPiece()`` gives, where it need not wait for it.
    func atHand() -> Exchange.PieceResult? {
        switch self {
        case .exchange(let owner):
            return owner.exchange.takePiece()
        case .bytes(let rest):
            let bytes = rest.withLockedValue { rest in
                defer { rest = ByteBuffer() }
                return rest
            }
            return .success(bytes.readableBytes > 0 ? bytes : nil)
        }
    }

    func cancel() {
        if case .exchange(let owner) = self { owner.exchange.cancel() }
    }
}

/// Ends the exchange when nobody can read its body any more.
private final class BodyOwner: Sendable {
    let exchange: Exchange

    init(exchange: Exchange) { self.exchange = exchange }

    deinit { exchange.cancel() }
}
