// SPDX-License-Identifier: Apache-2.0

/// Limits the work of mapping one document. A link of a few bytes may expand to thousands, and the origin controls the length of
/// the base.
struct MappingBudget {
    /// The reason why a document is not mapped.
    enum Fault: Error, Equatable {
        /// The mapped document would exceed ``MappingBudget/limit``.
        case tooLarge
        /// The document is not valid JSON, or has more than ``DocumentMapper/maxValues`` values.
        case unreadable
        /// The request was cancelled.
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

/// The text of a mapped document, limited by a budget.
struct MappedText {
    private(set) var text = ""
    private(set) var budget = MappingBudget()

    /// - Parameter size: the size of the document in bytes, used to reserve capacity.
    init(size: Int) { text.reserveCapacity(size) }

    mutating func append(_ piece: some StringProtocol) throws(MappingBudget.Fault) {
        try budget.take(piece.utf8.count)
        text += piece
    }

    /// Deducts bytes that are read but not written.
    mutating func charge(_ bytes: Int) throws(MappingBudget.Fault) { try budget.take(bytes) }
}
