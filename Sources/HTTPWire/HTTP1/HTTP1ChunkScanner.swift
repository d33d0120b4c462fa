// SPDX-License-Identifier: Apache-2.0

import Names

/// Scans the framing of a chunked body (RFC 9112 §7.1). What other recipients might read differently is an error.
struct HTTP1ChunkScanner {
    private enum State: Equatable {
        case size(digits: Int)
        case blankAfterSize(length: Int)
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

    /// The maximum size of the extensions of a chunk, and of white space before them, in bytes.
    static let extensionLimit = 4096

    /// The maximum size of the trailer section, in bytes.
    private let trailerLimit: Int
    /// Whether lines may end in LF alone, as some servers send them.
    private let allowsBareLineFeed: Bool
    private var state = State.size(digits: 0)
    private var size: Int64 = 0
    /// Whether a chunk's extension ended in LF alone, so that other recipients may find another end of the body.
    private(set) var isAmbiguous = false
    /// The trailer section received so far, including its empty line.
    private(set) var trailers: [UInt8] = []

    init(allowsBareLineFeed: Bool, trailerLimit: Int) {
        self.allowsBareLineFeed = allowsBareLineFeed
        self.trailerLimit = trailerLimit
    }

    var isEnded: Bool { state == .ended }

    /// Scans up to the end of the next content.
    ///
    /// - Parameter index: where to begin; afterwards, the end of what was scanned, and of the body if ``isEnded`` is true.
    /// - Returns: the place of the content; nil if there is none up to `index`.
    mutating func next(in bytes: Bytes, from index: inout Int) throws(HTTP1Error) -> Range<Int>? {
        while index < bytes.count, state != .ended {
            if case .data(let left) = state {
                let start = index
                index += Int(min(left, Int64(bytes.count - index)))
                let isWhole = left == Int64(index - start)
                state = isWhole ? .returnAfterData : .data(left - Int64(index - start))
                return start..<index
            }
            let byte = bytes[index]
            if allowsBareLineFeed, byte == UInt8(ascii: "\n"), awaitsReturn {
                if case .extensions = state { isAmbiguous = true }
                try step(UInt8(ascii: "\r"))
            }
            try step(byte)
            index += 1
        }
        return nil
    }

    /// Whether the current line may end here, and its CR has not come yet.
    private var awaitsReturn: Bool {
        switch state {
        case .size, .blankAfterSize, .extensions, .returnAfterData, .trailerStart, .trailerValue: true
        default: false
        }
    }

    private mutating func step(_ byte: UInt8) throws(HTTP1Error) {
        let isReturn = byte == UInt8(ascii: "\r")
        let isLineFeed = byte == UInt8(ascii: "\n")
        switch state {
        case .size(let digits):
            if let digit = PercentEncoding.hexValue(byte) {
                // Leading zeros are allowed (RFC 9112 §7.1), up to 64 digits in all. The size stays below 2^60.
                guard size >> 56 == 0, digits < 64 else { throw .malformed("the size of a chunk has too many digits") }
                size = size << 4 | Int64(digit)
                state = .size(digits: digits + 1)
                return
            }
            guard digits > 0 else { throw .malformed("the size of a chunk is not a number") }
            try stepAfterSize(byte, blanks: 0)
        case .blankAfterSize(let length): try stepAfterSize(byte, blanks: length)
        case .extensions(let length):
            if isReturn { return state = .lineFeedAfterSize }
            guard HTTPCharacters.isFieldValue(byte) else { throw .malformed("the extension of a chunk is malformed") }
            guard length < Self.extensionLimit else { throw .malformed("the extensions of a chunk are too long") }
            state = .extensions(length: length + 1)
        case .lineFeedAfterSize:
            guard isLineFeed else { throw .malformed("the size of a chunk is not a number") }
            state = size == 0 ? .trailerStart : .data(size)
            size = 0
        case .returnAfterData:
            guard isReturn else { throw .malformed("a chunk is longer than its size") }
            state = .lineFeedAfterData
        case .lineFeedAfterData:
            guard isLineFeed else { throw .malformed("a chunk is longer than its size") }
            state = .size(digits: 0)
        case .trailerStart, .trailerName, .trailerValue, .lineFeedAfterTrailer, .lastLineFeed:
            try stepInTrailers(byte, isReturn: isReturn, isLineFeed: isLineFeed)
        case .data, .ended: break
        }
    }

    private mutating func stepAfterSize(_ byte: UInt8, blanks: Int) throws(HTTP1Error) {
        switch byte {
        case UInt8(ascii: "\r"): state = .lineFeedAfterSize
        case UInt8(ascii: ";"): state = .extensions(length: 0)
        // White space before an extension or the line's end is "bad whitespace" that a recipient must accept (§7.1.1).
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            guard blanks < Self.extensionLimit else { throw .malformed("the extensions of a chunk are too long") }
            state = .blankAfterSize(length: blanks + 1)
        default: throw .malformed("the size of a chunk is not a number")
        }
    }

    private mutating func stepInTrailers(_ byte: UInt8, isReturn: Bool, isLineFeed: Bool) throws(HTTP1Error) {
        guard trailers.count < trailerLimit else { throw .trailersTooLarge }
        trailers.append(byte)
        switch state {
        case .trailerStart:
            if isReturn { return state = .lastLineFeed }
            guard HTTPCharacters.isToken(byte) else { throw .malformedTrailers("a trailer line has no name") }
            state = .trailerName
        case .trailerName:
            if byte == UInt8(ascii: ":") { return state = .trailerValue }
            guard HTTPCharacters.isToken(byte) else { throw .malformedTrailers("a trailer line has no name") }
        case .trailerValue:
            if isReturn { return state = .lineFeedAfterTrailer }
            guard HTTPCharacters.isFieldValue(byte) else {
                throw .malformedTrailers("a trailer holds a control character")
            }
        case .lineFeedAfterTrailer:
            guard isLineFeed else { throw .malformedTrailers("a trailer holds a control character") }
            state = .trailerStart
        default:
            guard isLineFeed else { throw .malformedTrailers("the trailers have no end") }
            state = .ended
        }
    }
}
