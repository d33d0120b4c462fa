// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Finds the end of a head that arrives in pieces, in linear time. Lines must end in CR LF, and a CR or LF alone is a fault,
/// because other parsers might read it differently (RFC 9112 §2.2).
struct HeadScanner {
    /// The reason why the bytes are not a valid head.
    enum Fault: Error, Equatable {
        case bareLineFeed
        case bareCarriageReturn
        case tooLong
    }

    /// Whether lines may end in LF alone, as some servers send them.
    let isLenient: Bool
    let limit: Int
    private var searched = 0
    private var lineStart = 0

    init(limit: Int, isLenient: Bool = false) {
        self.limit = limit
        self.isLenient = isLenient
    }

    /// The length of the head with its empty line; nil if it is incomplete. Each call passes all bytes since the head's first.
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
                // The last byte so far: the next one decides.
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
