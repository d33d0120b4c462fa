// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Reads a body up to its end, which may be marked in any way (RFC 9112 §6.3). It stops if the body is malformed.
package struct HTTP1BodyReader {
    package enum Part: Equatable {
        /// The next bytes of the content, without chunk framing; never empty.
        case content(ByteBuffer)
        /// The end.
        ///
        /// - Parameter trailers: the trailer section with its empty line; nil without trailers.
        case end(trailers: ByteBuffer?)
    }

    private enum State {
        case length(Int64)
        case chunked(HTTP1ChunkScanner)
        /// The trailers that were not taken yet.
        case trailers([UInt8])
        case untilClose
        case ended
        /// The body is malformed, and its end is unknown.
        case failed
    }

    private var state: State
    /// Whether other recipients may find another end of the body, so that the connection must not be used again.
    package private(set) var isAmbiguous = false

    /// - Parameters:
    ///   - allowsBareLineFeed: whether the lines of a chunked body may end in LF alone.
    ///   - trailerLimit: the maximum size of the trailer section, in bytes.
    package init(
        _ framing: HTTP1BodyFraming,
        allowsBareLineFeed: Bool = false,
        trailerLimit: Int = 16 * 1024
    ) {
        state =
            switch framing {
            case .none: .length(0)
            case .length(let length): .length(length)
            case .chunked:
                .chunked(HTTP1ChunkScanner(allowsBareLineFeed: allowsBareLineFeed, trailerLimit: trailerLimit))
            case .untilClose: .untilClose
            }
    }

    /// Whether all of the body was taken, or there is none.
    package var isEnded: Bool {
        switch state {
        case .ended, .length(0): true
        default: false
        }
    }

    package var isUntilClose: Bool { if case .untilClose = state { true } else { false } }

    /// The bytes still to come; nil if their number is unknown.
    package var remaining: Int64? { if case .length(let remaining) = state { remaining } else { nil } }

    /// Removes the next part of the body from the front of `bytes`; nil if more bytes are needed, and after the end.
    package mutating func next(from bytes: inout ByteBuffer) throws(HTTP1Error) -> Part? {
        switch state {
        case .ended: return nil
        case .failed: throw .malformed("its body is malformed")
        case .length(0):
            state = .ended
            return .end(trailers: nil)
        case .length(let left):
            guard let piece = Self.take(left, from: &bytes) else { return nil }
            state = .length(left - Int64(piece.readableBytes))
            return .content(piece)
        case .untilClose:
            return Self.take(.max, from: &bytes).map(Part.content)
        case .trailers(let section):
            return end(section)
        case .chunked(var scanner):
            // Releases the scanner, so that its trailers are not copied as they grow.
            state = .failed
            var index = 0
            let content = try bytes.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
                try scanner.next(in: bytes, from: &index)
            }
            isAmbiguous = isAmbiguous || scanner.isAmbiguous
            if let content {
                bytes.moveReaderIndex(forwardBy: content.lowerBound)
                state = .chunked(scanner)
                return bytes.readSlice(length: content.count).map(Part.content)
            }
            bytes.moveReaderIndex(forwardBy: index)
            if scanner.isEnded { return end(scanner.trailers) }
            state = .chunked(scanner)
            return nil
        }
    }

    /// Removes the available part of the body from the front of `bytes` and returns it as it was received, with its
    /// chunk framing but without trailers. Nil if there is nothing to forward. The trailer section follows separately
    /// with its empty line, without forbidden trailers and those in `connectionNames`. Not for a reader that allows
    /// bare line feeds.
    package mutating func takeVerbatim(
        from bytes: inout ByteBuffer,
        without connectionNames: Set<String>
    ) throws(HTTP1Error) -> ByteBuffer? {
        switch state {
        case .ended: return nil
        case .failed: throw .malformed("its body is malformed")
        case .length(let left):
            let piece = Self.take(left, from: &bytes)
            state = .length(left - Int64(piece?.readableBytes ?? 0))
            return piece
        case .untilClose:
            return Self.take(.max, from: &bytes)
        case .trailers(let section):
            state = .ended
            return TrailerFields.forwarded(section, without: connectionNames)
        case .chunked(var scanner):
            state = .failed
            let trailersBefore = scanner.trailers.count
            let scanned = try Self.scan(bytes, with: &scanner)
            let trailers = scanner.trailers.count - trailersBefore
            let piece = Self.take(Int64(scanned - trailers), from: &bytes)
            bytes.moveReaderIndex(forwardBy: trailers)
            state = scanner.isEnded ? .trailers(scanner.trailers) : .chunked(scanner)
            if piece == nil, scanner.isEnded { return try takeVerbatim(from: &bytes, without: connectionNames) }
            return piece
        }
    }

    /// Removes the available part of the body from the front of `bytes` and returns it as it was received, with chunk framing and
    /// trailers; nil if more bytes are needed, and after the end.
    package mutating func nextUndecoded(from bytes: inout ByteBuffer) throws(HTTP1Error) -> Part? {
        guard case .chunked(var scanner) = state else { return try next(from: &bytes) }
        state = .failed
        let scanned = try Self.scan(bytes, with: &scanner)
        isAmbiguous = isAmbiguous || scanner.isAmbiguous
        state = scanner.isEnded ? .length(0) : .chunked(scanner)
        if let piece = Self.take(Int64(scanned), from: &bytes) { return .content(piece) }
        return scanner.isEnded ? try next(from: &bytes) : nil
    }

    /// Scans chunks to the end of the bytes or of the body. Returns the number of bytes that it has scanned.
    private static func scan(_ bytes: ByteBuffer, with scanner: inout HTTP1ChunkScanner) throws(HTTP1Error) -> Int {
        var index = 0
        try bytes.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
            while try scanner.next(in: bytes, from: &index) != nil {}
        }
        return index
    }

    private mutating func end(_ trailers: [UInt8]) -> Part {
        state = .ended
        // A section without trailers is an empty line.
        return .end(trailers: trailers.count > 2 ? ByteBuffer(bytes: trailers) : nil)
    }

    private static func take(_ count: Int64, from bytes: inout ByteBuffer) -> ByteBuffer? {
        let count = Int(min(count, Int64(bytes.readableBytes)))
        return count > 0 ? bytes.readSlice(length: count) : nil
    }
}
