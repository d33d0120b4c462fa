// SPDX-License-Identifier: Apache-2.0

import GRDB

/// Limits the rows and octets that are read from a file. A small file could otherwise fill the memory with a column whose
/// default value repeats in each row.
struct ReadBudget {
    /// The maximum number of rows. A browser keeps some thousands of cookies.
    static let maxRows = 1_000_000
    /// The maximum size of all values together.
    static let maxOctets = 128 << 20

    private var rows = 0
    private var octets = 0

    /// Counts a row.
    ///
    /// - Parameter size: The octets of its values.
    /// - Throws: `SQLITE_TOOBIG` above a maximum.
    mutating func take(_ size: Int) throws {
        rows += 1
        octets += size
        guard rows <= Self.maxRows, octets <= Self.maxOctets else {
            throw DatabaseError(resultCode: .SQLITE_TOOBIG, message: "it has at least \(rows) rows, \(octets) octets")
        }
    }
}
