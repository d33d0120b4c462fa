// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// Limits the rows and octets that are read from a file. A small file could otherwise fill the memory with a column whose
/// default value repeats in each row.
struct ReadBudget {
    /// The maximum size of a row. A cookie has less than 6 KiB, and earlier versions kept paths of up to 65,535 octets, so a
    /// larger row is damage.
    static let maxRowOctets = 256 << 10
    /// The maximum number of rows. A browser keeps some thousands of cookies.
    static let maxRows = 1_000_000
    /// The maximum size of all values together, unless a jar may hold more.
    static let maxOctets = 128 << 20
    /// The maximum size for a jar of any number of cookies.
    static let maxOctetsOfJar = 1 << 30

    /// The maximum size of all values together.
    let maxOctets: Int
    private var rows = 0
    private var octets = 0

    init() { maxOctets = Self.maxOctets }

    /// Allows as many of the longest cookies as a jar may hold.
    init(for jar: CookieJarConfiguration) {
        let most = min(jar.maxCookies, Self.maxRows)
        // A jar evicts cookies when it holds over 10% more.
        let cookies = most + most / 10
        let isHuge = cookies > Self.maxOctetsOfJar / Cookie.maxOctets
        maxOctets = isHuge ? Self.maxOctetsOfJar : max(Self.maxOctets, cookies * Cookie.maxOctets)
    }

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
        guard rows <= Self.maxRows, octets <= maxOctets else {
            throw DatabaseError(
                resultCode: .SQLITE_NOMEM,
                message: "it is too large to be read, with at least \(rows) rows, \(octets) octets"
            )
        }
    }
}

extension Database {
    /// Reads the rows of a query. Throws for more than the budget allows.
    func forEachRow(
        _ sql: String,
        arguments: StatementArguments = StatementArguments(),
        budget: ReadBudget = ReadBudget(),
        body: (inout RowReader) -> Void
    ) throws {
        let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
        var budget = budget
        while let row = try rows.next() {
            var reader = RowReader(row)
            body(&reader)
            try budget.take(reader.size)
        }
    }
}
