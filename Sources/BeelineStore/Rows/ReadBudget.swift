// SPDX-License-Identifier: Apache-2.0

import GRDB

/// Limits the rows and octets that are read from a file. A small file could otherwise fill the memory with a column whose
/// default value repeats in each row.
struct ReadBudget {
    /// The maximum size of a row. A cookie has 4,096 octets of name and value and 65,535 of path, so a larger row is damage.
    static let maxRowOctets = 256 << 10
    /// The maximum number of rows. A browser keeps some thousands of cookies.
    static let maxRows = 1_000_000
    /// The maximum size of all values together.
    static let maxOctets = 128 << 20

    private var rows = 0
    private var octets = 0

    /// Counts a row.
    ///
    /// - Parameter size: The octets of its values.
    /// - Throws: `SQLITE_TOOBIG` for a row that is too large, which counts as damage. `SQLITE_NOMEM` for too many rows or
    ///   octets: a large jar may have written them, so the file must not be set aside.
    mutating func take(_ size: Int) throws {
        rows += 1
        octets += size
        guard size <= Self.maxRowOctets else {
            throw DatabaseError(resultCode: .SQLITE_TOOBIG, message: "a row has \(size) octets")
        }
        guard rows <= Self.maxRows, octets <= Self.maxOctets else {
            throw DatabaseError(
                resultCode: .SQLITE_NOMEM,
                message: "it is too large to be read, with at least \(rows) rows, \(octets) octets"
            )
        }
    }
}
