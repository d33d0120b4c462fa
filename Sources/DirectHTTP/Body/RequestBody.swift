// SPDX-License-Identifier: Apache-2.0

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
    /// The media type that a request with this body says in `Content-Type` where it says none itself; nil: none.
    public var contentType: String?
    /// Hears how far sending has come.
    var report: (@Sendable (TransferProgress) -> Void)?

    /// No body: neither `Content-Length` nor `Transfer-Encoding` is sent, except where the method expects a body.
    public static let none = RequestBody(storage: .none)

    /// Bytes in memory.
    public static func bytes(_ bytes: ByteBuffer) -> RequestBody { RequestBody(storage: .bytes(bytes)) }

    /// Bytes in memory.
    public static func bytes(_ bytes: some Sequence<UInt8>) -> RequestBody {
        RequestBody(storage: .bytes(ByteBuffer(bytes: bytes)))
    }

    /// The file at `path`, read while it is sent. Its length is taken when sending begins; a file that changes
    /// meanwhile is an error (`bodySourceFailed`), never a short body.
    public static func file(_ path: String) -> RequestBody { RequestBody(storage: .file(path: path)) }

    /// A sequence that `make` gives, anew for each time the body is sent, so that redirects and retries can replay it.
    ///
    /// - Parameter length: the number of bytes, or nil where it is not known (chunked then). A sequence that gives
    ///   more or fewer is an error (`bodySourceFailed`).
    /// - Parameter make: gives the sequence, anew for each time the body is sent.
    public static func stream<Body: AsyncSequence & Sendable>(
        length: Int64?,
        _ make: @escaping @Sendable () throws -> Body
    ) -> RequestBody where Body.Element == ByteBuffer {
        RequestBody(storage: .stream(StreamSource(length: length, isReplayable: true, make)))
    }

    /// A sequence that can be read only once. Where a redirect or a retry would need it again, the exchange ends with
    /// `bodyNotReplayable`.
    ///
    /// - Parameter length: as for ``stream(length:_:)``.
    /// - Parameter sequence: the body; it is read at most once.
    public static func once<Body: AsyncSequence & Sendable>(
        length: Int64?,
        _ sequence: Body
    ) -> RequestBody where Body.Element == ByteBuffer {
        RequestBody(storage: .stream(StreamSource(length: length, isReplayable: false) { sequence }))
    }

    /// Whether it is in memory: nobody waits for it.
    package var isInMemory: Bool {
        switch storage {
        case .none, .bytes: true
        case .file, .stream: false
        }
    }

    /// Whether it can be sent more than once.
    public var isReplayable: Bool {
        if case .stream(let source) = storage { return source.isReplayable }
        return true
    }

    /// Whether there is no body at all.
    public var isNone: Bool {
        if case .none = storage { return true }
        return false
    }
}

/// A sequence of buffers behind one closure, whatever its type.
struct StreamSource: Sendable {
    /// The number of bytes, asked for each time that a request is made of the body; nil where it is not known.
    let measure: @Sendable () throws(DirectHTTPError) -> Int64?
    let isReplayable: Bool
    /// Reads the whole sequence and hands each buffer on.
    let forEach: @Sendable (_ body: (ByteBuffer) async throws -> Void) async throws -> Void

    init(
        isReplayable: Bool,
        measure: @escaping @Sendable () throws(DirectHTTPError) -> Int64?,
        forEach: @escaping @Sendable (_ body: (ByteBuffer) async throws -> Void) async throws -> Void
    ) {
        self.measure = measure
        self.isReplayable = isReplayable
        self.forEach = forEach
    }

    init<Body: AsyncSequence & Sendable>(
        length: Int64?,
        isReplayable: Bool,
        _ make: @escaping @Sendable () throws -> Body
    ) where Body.Element == ByteBuffer {
        measure = { length }
        self.isReplayable = isReplayable
        forEach = { body in
            for try await piece in try make() { try await body(piece) }
        }
    }
}
