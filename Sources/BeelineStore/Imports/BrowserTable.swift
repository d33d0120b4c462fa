// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// A browser's table, whose columns depend on the browser's version.
struct BrowserTable: Sendable {
    let name: String
    let columns: Set<String>

    /// The table with a name; nil if it does not exist.
    init?(_ db: Database, named name: String) throws {
        self.name = name
        guard try db.hasTable(name) else { return nil }
        columns = Set(try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name]))
        if columns.isEmpty { return nil }
    }

    /// Reads some columns of all rows, in the order of a column. `|` separates alternative names of a column; a missing column
    /// is NULL. Names and values are read as octets.
    func forEachRow(
        _ db: Database,
        columns wanted: [String],
        orderedBy order: String,
        body: (_ row: inout RowReader, _ number: Int) -> Void
    ) throws {
        let expressions = wanted.map { names in
            names.split(separator: "|").first { columns.contains(String($0)) }.map(Self.expression) ?? "NULL"
        }
        let order = columns.contains(order) ? "\(order), rowid" : "rowid"
        let sql = "SELECT \(expressions.joined(separator: ", ")) FROM \(name) ORDER BY \(order)"
        var number = 0
        try db.forEachRow(sql) { row in
            number += 1
            body(&row, number)
        }
    }

    /// A browser's text may not be UTF-8.
    private static func expression(_ column: Substring) -> String {
        ["name", "value", "encrypted_value"].contains(column) ? "CAST(\(column) AS BLOB)" : String(column)
    }
}

extension CookieTime {
    /// Makes a time from `number` units of `unit` microseconds since `epoch`. Clamps on overflow.
    init(_ number: Int64, unit: Int64, epoch: Int64 = 0) {
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        let (sum, over) = (overflow ? (number > 0 ? .max : .min) : product).addingReportingOverflow(epoch)
        self.init(microseconds: over ? (epoch > 0 ? .max : .min) : sum)
    }
}
