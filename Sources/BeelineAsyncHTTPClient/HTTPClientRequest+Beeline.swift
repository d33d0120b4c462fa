// SPDX-License-Identifier: Apache-2.0

#if AsyncHTTPClient
import AsyncHTTPClient
import Beeline
import HTTPTypes
import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
    /// Method and fields. The fields that frame a message are not among them: the engine writes its own.
    func head() throws -> HTTPRequest {
        guard let method = HTTPRequest.Method(rawValue: method.rawValue) else {
            throw BeelineError(BeelineError.Code(.invalidRequest), "\(url): \"\(method.rawValue)\" is no method")
        }
        var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: nil)
        for (name, value) in headers {
            switch name.lowercased() {
            case "content-length", "transfer-encoding", "connection": continue
            case "host": head.authority = value
            default:
                guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                    throw BeelineError(
                        BeelineError.Code(.invalidRequest),
                        "\(url): the header \"\(name)\" cannot be sent as it is"
                    )
                }
                head.headerFields.append(HTTPField(name: name, value: value))
            }
        }
        return head
    }

    /// The body: bytes where one buffer is all of it, else a stream that is read once.
    func replayedBody() async throws -> RequestBody {
        guard let body else { return .none }
        // The pieces are taken from one iterator: what was read to look ahead is not asked for again.
        let pieces = PieceSource(body.makeAsyncIterator())
        guard let first = try await pieces.next() else { return .bytes(ByteBuffer()) }
        guard let second = try await pieces.next() else { return .bytes(first) }
        let length = headers.first(name: "content-length").flatMap { Int64($0) }
        return .once(length: length, Pieces(source: pieces, ahead: [first, second]))
    }
}

/// The iterator of a body, which one exchange reads, one piece after another.
private final class PieceSource: @unchecked Sendable {
    // Not guarded by a lock: the engine asks for a piece when it has sent the one before, and never twice at a time.
    private var iterator: HTTPClientRequest.Body.AsyncIterator

    init(_ iterator: HTTPClientRequest.Body.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> ByteBuffer? { try await iterator.next() }
}

/// The pieces that were read ahead, and then the others.
private struct Pieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let source: PieceSource
    let ahead: [ByteBuffer]

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: PieceSource
        var ahead: ArraySlice<ByteBuffer>

        mutating func next() async throws -> ByteBuffer? {
            if let piece = ahead.popFirst() { return piece }
            return try await source.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source, ahead: ahead[...]) }
}
#endif
