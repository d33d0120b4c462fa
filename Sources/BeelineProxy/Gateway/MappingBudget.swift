// SPDX-License-Identifier: Apache-2.0

/// What the mapping of one document may still write and read. A link of a few bytes may become one of many thousand, and what
/// it is resolved against is as long as the origin likes.
struct MappingBudget {
    /// Why a document is not mapped.
    enum Fault: Error, Equatable {
        /// Mapped, it would be larger than ``MappingBudget/limit``.
        case tooLarge
        /// The request for it was given up.
        case cancelled
    }

    /// Bytes that are written, or looked at more than once. 32 MiB.
    static let limit = 4 * PlaylistMapper.sizeLimit
    /// Steps between two looks at the task.
    private static let period = 256

    private var left = Self.limit
    private var steps = 0

    /// Takes bytes off.
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

/// The text of a document as it is mapped, within a budget.
struct MappedText {
    private(set) var text = ""
    private(set) var budget = MappingBudget()

    /// - Parameter size: of the document, to make room for its text at once.
    init(size: Int) { text.reserveCapacity(size) }

    mutating func append(_ piece: some StringProtocol) throws(MappingBudget.Fault) {
        try budget.take(piece.utf8.count)
        text += piece
    }

    /// Takes bytes off that are not written.
    mutating func charge(_ bytes: Int) throws(MappingBudget.Fault) { try budget.take(bytes) }
}
