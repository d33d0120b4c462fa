// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import NIOCore

/// The body of a request: nothing, bytes, a file, or an async sequence of buffers.
///
/// ```swift
/// RequestBody.bytes(Array("name=value".utf8))
/// RequestBody.file("/var/log/upload.bin")
/// RequestBody.stream(length: nil) { makeSequence() }   // can be read again: redirects and retries work
/// ```
public struct RequestBody: Sendable {

    enum Storage: Sendable {
        case none
        case bytes(ByteBuffer)
        case file(path: String)
        case stream(StreamSource)
    }

    let storage: Storage
    /// The media type for `Content-Type` if the request has no such field; nil: none.
    public var contentType: String?
    /// Called with the progress of sending.
    var report: (@Sendable (TransferProgress) -> Void)?

    /// No body. Neither `Content-Length` nor `Transfer-Encoding` is sent, except that methods which expect a body send
    /// `Content-Length: 0`.
    public static let none = RequestBody(storage: .none)

    /// Bytes in memory.
    public static func bytes(_ bytes: ByteBuffer) -> RequestBody { RequestBody(storage: .bytes(bytes)) }

    /// Bytes in memory.
    public static func bytes(_ bytes: some Sequence<UInt8>) -> RequestBody {
        RequestBody(storage: .bytes(ByteBuffer(bytes: bytes)))
    }

    /// The file at `path`, read while it is sent. Its length is taken when the request is prepared. A file that is longer or
    /// shorter when it is sent is an error (`bodySourceFailed`).
    public static func file(_ path: String) -> RequestBody { RequestBody(storage: .file(path: path)) }

    /// A sequence that `make` creates anew each time the body is sent, so that redirects and retries can send it again.
    ///
    /// A response with a 2xx status ends when the body is sent, so the sequence must not wait for the end of the response.
    ///
    /// - Parameter length: the number of bytes; nil if unknown (the body is then chunked). A sequence of another length is an
    ///   error (`bodySourceFailed`).
    /// - Parameter make: creates the sequence.
    public static func stream<Body: AsyncSequence & Sendable>(
        length: Int64?,
        _ make: @escaping @Sendable () throws -> Body
    ) -> RequestBody where Body.Element == ByteBuffer {
        RequestBody(storage: .stream(StreamSource(length: length, isReplayable: true, make)))
    }

    /// A sequence that can be read only once. A redirect, a retry or another request that needs it again fails with
    /// `bodyNotReplayable`. As for ``stream(length:_:)``, it must not wait for the end of the response.
    ///
    /// - Parameter length: as for ``stream(length:_:)``.
    /// - Parameter sequence: the body; it is read at most once.
    public static func once<Body: AsyncSequence & Sendable>(
        length: Int64?,
        _ sequence: Body
    ) -> RequestBody where Body.Element == ByteBuffer {
        let isRead = NIOLockedValueBox(false)
        let source = StreamSource(length: length, isReplayable: false) { () throws -> Body in
            // A second reader of a stream would get none or a part of its bytes, and take them for the whole.
            let wasRead = isRead.withLockedValue { isRead in
                defer { isRead = true }
                return isRead
            }
            guard !wasRead else {
                let message = "the request's body was already read, and can be read only once: use RequestBody.stream"
                throw DirectHTTPError(.bodyNotReplayable, message)
            }
            return sequence
        }
        return RequestBody(storage: .stream(source))
    }

    /// Whether the body is in memory, so that sending never waits for it.
    package var isInMemory: Bool {
        switch storage {
        case .none, .bytes: true
        case .file, .stream: false
        }
    }

    /// Whether the body can be sent more than once.
    public var isReplayable: Bool {
        if case .stream(let source) = storage { return source.isReplayable }
        return true
    }

    /// Whether there is no body.
    package var isNone: Bool {
        if case .none = storage { return true }
        return false
    }
}

/// A sequence of buffers of any type behind one closure.
struct StreamSource: Sendable {
    /// Returns the number of bytes, or nil if it is unknown. Called for each request made with the body.
    let measure: @Sendable () throws(DirectHTTPError) -> Int64?
    let isReplayable: Bool
    /// The bytes of the body, if they are in memory although it is sent piece by piece.
    let bytes: ByteBuffer?
    /// Reads the whole sequence and passes on each buffer.
    let forEach: @Sendable (_ body: (ByteBuffer) async throws -> Void) async throws -> Void

    init(
        isReplayable: Bool,
        bytes: ByteBuffer? = nil,
        measure: @escaping @Sendable () throws(DirectHTTPError) -> Int64?,
        forEach: @escaping @Sendable (_ body: (ByteBuffer) async throws -> Void) async throws -> Void
    ) {
        self.measure = measure
        self.isReplayable = isReplayable
        self.bytes = bytes
        self.forEach = forEach
    }

    init<Body: AsyncSequence & Sendable>(
        length: Int64?,
        isReplayable: Bool,
        _ make: @escaping @Sendable () throws -> Body
    ) where Body.Element == ByteBuffer {
        measure = { length }
        self.isReplayable = isReplayable
        bytes = nil
        forEach = { body in
            for try await piece in try make() { try await body(piece) }
        }
    }
}
