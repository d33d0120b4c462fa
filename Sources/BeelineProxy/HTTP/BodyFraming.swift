// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Names

/// Where a body ends (RFC 9112 §6.3).
enum BodyFraming: Equatable {
    case none
    case length(Int64)
    case chunked
    /// With the connection; only responses.
    case untilClose
}

/// Follows a body to its end without changing a byte but for its trailers, and stops where it is not what its head says.
struct BodyTracker {
    private enum State {
        case length(Int64)
        case chunked(ChunkScanner)
        /// Trailers that are still to be passed on.
        case trailers(ByteBuffer)
        case untilClose
        case ended
    }

    private var state: State
    /// Names of trailers that belong to one connection.
    private let listed: Set<String>

    /// - Parameters:
    ///   - framing: where the body ends.
    ///   - listed: names that Connection lists, in small letters: such trailers are not passed on.
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

    /// Takes what belongs to the body off the front of `bytes`, as it goes on; nil where nothing goes on for now.
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

    /// Takes what belongs to the body off the front of `bytes`, and leaves its framing and trailers out: all that is there,
    /// perhaps nothing.
    mutating func takeContent(from bytes: inout ByteBuffer) throws(ChunkScanner.Fault) -> ByteBuffer {
        guard case .chunked(let scanner) = state else { return try take(from: &bytes) ?? ByteBuffer() }
        var content = ByteBuffer()
        let (all, _) = try scan(scanner, bytes) { content.writeBytes($0) }
        bytes.moveReaderIndex(forwardBy: all)
        if case .trailers = state { state = .ended }
        return content
    }

    /// - Returns: how many bytes belong to the body, and how many of those at their end are its trailers.
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

/// Reads the framing of a chunked body (RFC 9112 §7.1) as it passes by: what another reader might take for something else,
/// such as a size with a sign or a line that ends in LF alone, is a fault.
struct ChunkScanner: Equatable {
    /// What is wrong with the framing.
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

    /// Bytes of all extensions of one chunk, and of all trailers.
    static let lineLimit = 4096

    private var state = State.size(digits: 0)
    private var size: Int64 = 0
    /// The trailer section so far, up to and with its empty line.
    private(set) var trailers: [UInt8] = []

    var isEnded: Bool { state == .ended }

    /// How many of the bytes belong to the body: all of them, unless it ends among them.
    ///
    /// - Parameters:
    ///   - bytes: what comes next.
    ///   - content: told of what is within the chunks.
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
        // Blanks before an extension or the line's end are "bad whitespace", which a reader must take (§7.1.1).
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
