// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Finds the end of a head that arrives in pieces (RFC 9112 §2.1). Time is linear, and memory has a bound.
package struct HTTP1HeadReader {
    /// How strictly the ends of lines are read.
    package enum Strictness {
        /// As a server must read requests: lines end in CR LF, and no line continues the previous one.
        case request
        /// As a recipient may read responses: lines may end in LF alone (RFC 9112 §2.2), and fields may be folded (§5.2).
        case response
        /// As ``response``, and lines of white space before the first field are skipped (RFC 9112 §2.2).
        case responseToClient
    }

    private let strictness: Strictness
    /// The maximum size of a head, in bytes.
    private let limit: Int
    /// Offsets from the start of the head: the first byte that was not searched yet, and the start of its line.
    private(set) var searched = 0
    private var lineStart = 0
    private var isFolded = false
    /// The end of the start line and of the skipped lines after it.
    private var startLineEnd = 0
    /// The start of the last line that does not continue another line.
    private var fieldStart = 0
    /// The lines that are skipped.
    private var skipped: Range<Int>?
    /// Whether the line that folds continue is known to be a field line.
    private var isFieldLine = false

    package init(_ strictness: Strictness, limit: Int) {
        self.strictness = strictness
        self.limit = limit
    }

    /// Removes the head from `bytes`; nil until it is complete. Later calls pass the same bytes and those that follow.
    package mutating func take(from bytes: inout ByteBuffer) throws(HTTP1Error) -> HTTP1Head? {
        let end = try bytes.withUnsafeReadableBytes { bytes throws(HTTP1Error) in try findEnd(bytes) }
        guard (end ?? bytes.readableBytes) <= limit else { throw .tooLarge("its head is larger than \(limit) bytes") }
        guard let end, let raw = bytes.readSlice(length: end) else { return nil }
        defer { self = Self(strictness, limit: limit) }
        return HTTP1Head(raw: raw, isFolded: isFolded, skipped: skipped)
    }

    /// The length of the head with its empty line; nil if the bytes do not contain its end.
    private mutating func findEnd(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) -> Int? {
        while let feed = bytes.firstIndex(of: UInt8(ascii: "\n"), from: searched) {
            let hasReturn = feed > lineStart && bytes[feed - 1] == UInt8(ascii: "\r")
            guard hasReturn || strictness != .request else { throw .malformed("a line ends in LF without CR") }
            if feed - lineStart == (hasReturn ? 1 : 0) { return feed + 1 }
            if lineStart == 0 {
                startLineEnd = feed
            } else if strictness == .responseToClient, startLineEnd == lineStart - 1,
                HTTPCharacters.isBlank(bytes[lineStart])
            {
                skipped = (skipped?.lowerBound ?? lineStart)..<feed + 1
                startLineEnd = feed
            } else if HTTPCharacters.isBlank(bytes[lineStart]) {
                try noteFold(bytes)
            } else {
                isFieldLine = false
                fieldStart = lineStart
            }
            searched = feed + 1
            lineStart = searched
        }
        searched = bytes.count
        return nil
    }

    /// Notes that the current line continues the previous one.
    private mutating func noteFold(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) {
        guard strictness != .request else { throw .malformed("a field line is malformed") }
        // The start line cannot be continued: the first field would have no name.
        guard startLineEnd != lineStart - 1 else { throw .malformed("a header line has no name") }
        isFolded = true
        guard !isFieldLine else { return }
        // A fold is part of a value, so the colon must come before it.
        let line = UnsafeRawBufferPointer(rebasing: bytes[fieldStart..<lineStart])
        guard line.contains(UInt8(ascii: ":")) else { throw .malformed("a header line has no colon") }
        isFieldLine = true
    }
}
