// SPDX-License-Identifier: Apache-2.0

/// Limits the work of mapping a document: each link may expand to the length of the base, which the origin chooses.
struct MappingBudget {
    /// The reason why a document is not mapped.
    enum Fault: Error, Equatable {
        /// The mapped document would exceed ``MappingBudget/limit``.
        case tooLarge
        /// The document is not valid JSON, or has more than ``DocumentMapper/maxValues`` values.
        case unreadable
        case cancelled
    }

    /// The maximum number of bytes written or read repeatedly: 32 MiB.
    static let limit = 4 * PlaylistMapper.sizeLimit
    /// The number of calls between checks for cancellation.
    private static let period = 256

    private var left = Self.limit
    private var steps = 0

    mutating func take(_ bytes: Int) throws(Fault) {
        steps += 1
        if steps == Self.period {
            steps = 0
            guard !Task.isCancelled else { throw .cancelled }
        }
        guard bytes <= left else { throw .tooLarge }
        left -= bytes
    }
}

/// A document while its links are replaced in order, within a budget. The text between them is copied.
struct MappedText {
    private let source: String
    private var text = ""
    /// The end of the part of the source that is in `text`.
    private var position: String.Index
    private var budget = MappingBudget()

    init(_ source: String) {
        self.source = source
        position = source.startIndex
        text.reserveCapacity(source.utf8.count)
    }

    /// Replaces a part of the source. It must follow the parts that were replaced before.
    mutating func replace(_ part: Substring, with replacement: String) throws(MappingBudget.Fault) {
        let before = source[position..<part.startIndex]
        try budget.take(before.utf8.count + replacement.utf8.count)
        text.append(contentsOf: before)
        text.append(replacement)
        position = part.endIndex
    }

    /// Deducts bytes that are read but not written.
    mutating func charge(_ bytes: Int) throws(MappingBudget.Fault) { try budget.take(bytes) }

    /// The whole text.
    mutating func finished() throws(MappingBudget.Fault) -> String {
        let rest = source[position...]
        try budget.take(rest.utf8.count)
        return text + rest
    }
}
