// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Finds the end of a head in bytes that come in pieces, in linear time, and lets no line end through that another reader
/// could take for something else (RFC 9112 §2.2): a line ends in CR LF, and neither stands alone.
struct HeadScanner {
    /// Why the bytes are no head.
    enum Fault: Error, Equatable {
        case bareLineFeed
        case bareCarriageReturn
        case tooLong
    }

    /// Whether lines may end in LF alone, as those of some servers do.
    let isLenient: Bool
    let limit: Int
    private var searched = 0
    private var lineStart = 0

    init(limit: Int, isLenient: Bool = false) {
        self.limit = limit
        self.isLenient = isLenient
    }

    /// The length of the head with its empty line; nil until that has come. All bytes since the head's first are passed
    /// each time.
    mutating func end(in bytes: UnsafeRawBufferPointer) throws(Fault) -> Int? {
        while searched < bytes.count {
            let byte = bytes[searched]
            switch byte {
            case UInt8(ascii: "\n"):
                let hasReturn = searched > lineStart && bytes[searched - 1] == UInt8(ascii: "\r")
                guard hasReturn || isLenient else { throw .bareLineFeed }
                let isEmpty = searched - lineStart == (hasReturn ? 1 : 0)
                searched += 1
                lineStart = searched
                if isEmpty {
                    guard searched <= limit else { throw .tooLong }
                    return searched
                }
            case UInt8(ascii: "\r"):
                // The last byte of what has come so far: what follows decides.
                if searched + 1 == bytes.count {
                    guard searched < limit else { throw .tooLong }
                    return nil
                }
                guard bytes[searched + 1] == UInt8(ascii: "\n") else { throw .bareCarriageReturn }
                searched += 1
            default:
                searched += 1
            }
        }
        guard searched <= limit else { throw .tooLong }
        return nil
    }
}
