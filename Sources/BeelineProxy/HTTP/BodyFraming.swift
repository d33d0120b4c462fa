// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// How the end of a body is determined (RFC 9112 §6.3).
enum BodyFraming: Equatable {
    case none
    case length(Int64)
    case chunked
    /// The body ends with the connection. Only for responses.
    case untilClose
}

/// Passes a body on unchanged, except for its trailers, up to its end. Stops if the body is malformed.
struct BodyTracker {
    private enum State {
        case length(Int64)
        case chunked(ChunkScanner)
        /// Trailers that were not passed on yet.
        case trailers(ByteBuffer)
        case untilClose
        case ended
    }

    private var state: State
    /// The names of hop-by-hop trailers.
    private let listed: Set<String>

    /// - Parameters:
    ///   - framing: the framing of the body.
    ///   - listed: the names in Connection, in lower case. Trailers with these names are removed.
    init(_ framing: BodyFraming, withoutTrailers listed: Set<String> = []) {
        self.listed = listed
        state =
            switch framing {
            case .none, .length(0): .ended
            case .length(let length): .length(length)
            case .chunked: .chunked(ChunkScanner())
            case .untilClose: .untilClose
            }
    }

    var isEnded: Bool { if case .ended = state { true } else { false } }
    var isUntilClose: Bool { if case .untilClose = state { true } else { false } }

    /// Removes the next part of the body from the front of `bytes` and returns it as it is forwarded; nil if there is nothing to
    /// forward.
    mutating func take(from bytes: inout ByteBuffer) throws(ChunkScanner.Fault) -> ByteBuffer? {
        let count: Int
        switch state {
        case .ended:
            return nil
        case .untilClose:
            count = bytes.readableBytes
        case .length(let left):
            count = Int(min(left, Int64(bytes.readableBytes)))
            state = left == Int64(count) ? .ended : .length(left - Int64(count))
        case .chunked(let scanner):
            let (all, trailers) = try scan(scanner, bytes) { _ in }
            let piece = bytes.readSlice(length: all - trailers)
            bytes.moveReaderIndex(forwardBy: trailers)
            if let piece, piece.readableBytes > 0 { return piece }
            guard case .trailers(let section) = state else { return nil }
            state = .ended
            return section
        case .trailers(let section):
            state = .ended
            return section
        }
        return count > 0 ? bytes.readSlice(length: count) : nil
    }

    /// Removes the available part of the body from the front of `bytes` and returns its content without chunk framing and
    /// trailers. The content may be empty.
    mutating func takeContent(from bytes: inout ByteBuffer) throws(ChunkScanner.Fault) -> ByteBuffer {
        guard case .chunked(let scanner) = state else { return try take(from: &bytes) ?? ByteBuffer() }
        var content = ByteBuffer()
        let (all, _) = try scan(scanner, bytes) { content.writeBytes($0) }
        bytes.moveReaderIndex(forwardBy: all)
        if case .trailers = state { state = .ended }
        return content
    }

    /// - Returns: the number of bytes that belong to the body, and how many bytes at their end are trailers.
    private mutating func scan(
        _ scanner: ChunkScanner,
        _ bytes: ByteBuffer,
        content: (UnsafeRawBufferPointer) -> Void
    ) throws(ChunkScanner.Fault) -> (all: Int, trailers: Int) {
        var scanner = scanner
        let before = scanner.trailers.count
        let result = bytes.withUnsafeReadableBytes { bytes in
            Result { () throws(ChunkScanner.Fault) in try scanner.scan(bytes, content: content) }
        }
        let count = try result.get()
        if scanner.isEnded {
            state = .trailers(scanner.trailers.withUnsafeBytes { TrailerFields.passed($0, without: listed) })
        } else {
            state = .chunked(scanner)
        }
        return (count, scanner.trailers.count - before)
    }
}

/// Scans the framing of a chunked body (RFC 9112 §7.1). Anything that other parsers might read differently, such as a size with a
/// sign or a line that ends in LF alone, is a fault.
struct ChunkScanner: Equatable {
    /// The error in the framing.
    enum Fault: Error, Equatable {
        case malformedSize
        case malformedExtension
        case malformedEnd
        case malformedTrailer
        case tooLong
    }

    private enum State: Equatable {
        case size(digits: Int)
        case blankAfterSize
        case extensions(length: Int)
        case lineFeedAfterSize
        case data(Int64)
        case returnAfterData
        case lineFeedAfterData
        case trailerStart
        case trailerName
        case trailerValue
        case lineFeedAfterTrailer
        case lastLineFeed
        case ended
    }

    /// The maximum size of the extensions of a chunk, in bytes; trailers may have four times as many.
    static let lineLimit = 4096

    private var state = State.size(digits: 0)
    private var size: Int64 = 0
    /// The trailer section received so far, including its empty line.
    private(set) var trailers: [UInt8] = []

    var isEnded: Bool { state == .ended }

    /// Scans bytes. Returns how many of them belong to the body: all, unless the body ends among them.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes.
    ///   - content: called with the content of the chunks.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        content: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) throws(Fault) -> Int {
        var index = 0
        while index < bytes.count {
            if case .data(let left) = state {
                let count = Int(min(left, Int64(bytes.count - index)))
                content(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                state = left == Int64(count) ? .returnAfterData : .data(left - Int64(count))
                continue
            }
            if state == .ended { return index }
            try step(bytes[index])
            index += 1
        }
        return index
    }

    private mutating func step(_ byte: UInt8) throws(Fault) {
        let isReturn = byte == UInt8(ascii: "\r")
        let isLineFeed = byte == UInt8(ascii: "\n")
        switch state {
        case .size(let digits):
            if let digit = PercentEncoding.hexValue(byte) {
                guard digits < 15 else { throw .malformedSize }
                size = size << 4 | Int64(digit)
                state = .size(digits: digits + 1)
                return
            }
            guard digits > 0 else { throw .malformedSize }
            try afterSize(byte)
        case .blankAfterSize: try afterSize(byte)
        case .extensions(let length):
            if isReturn { return state = .lineFeedAfterSize }
            guard Characters.isFieldValue(byte) else { throw .malformedExtension }
            guard length < Self.lineLimit else { throw .tooLong }
            state = .extensions(length: length + 1)
        case .lineFeedAfterSize:
            guard isLineFeed else { throw .malformedSize }
            state = size == 0 ? .trailerStart : .data(size)
            size = 0
        case .returnAfterData:
            guard isReturn else { throw .malformedEnd }
            state = .lineFeedAfterData
        case .lineFeedAfterData:
            guard isLineFeed else { throw .malformedEnd }
            state = .size(digits: 0)
        case .trailerStart, .trailerName, .trailerValue, .lineFeedAfterTrailer, .lastLineFeed:
            try trailer(byte, isReturn: isReturn, isLineFeed: isLineFeed)
        case .data, .ended:
            break
        }
    }

    private mutating func afterSize(_ byte: UInt8) throws(Fault) {
        switch byte {
        case UInt8(ascii: "\r"): state = .lineFeedAfterSize
        case UInt8(ascii: ";"): state = .extensions(length: 0)
        // White space before an extension or the line's end is "bad whitespace" that a recipient must accept (§7.1.1).
        case UInt8(ascii: " "), UInt8(ascii: "\t"): state = .blankAfterSize
        default: throw .malformedSize
        }
    }

    private mutating func trailer(_ byte: UInt8, isReturn: Bool, isLineFeed: Bool) throws(Fault) {
        guard trailers.count < Self.lineLimit * 4 else { throw .tooLong }
        trailers.append(byte)
        switch state {
        case .trailerStart:
            if isReturn { return state = .lastLineFeed }
            guard Characters.isToken(byte) else { throw .malformedTrailer }
            state = .trailerName
        case .trailerName:
            if byte == UInt8(ascii: ":") { return state = .trailerValue }
            guard Characters.isToken(byte) else { throw .malformedTrailer }
        case .trailerValue:
            if isReturn { return state = .lineFeedAfterTrailer }
            guard Characters.isFieldValue(byte) else { throw .malformedTrailer }
        case .lineFeedAfterTrailer:
            guard isLineFeed else { throw .malformedTrailer }
            state = .trailerStart
        default:
            guard isLineFeed else { throw .malformedTrailer }
            state = .ended
        }
    }
}
