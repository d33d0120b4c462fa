// SPDX-License-Identifier: Apache-2.0

import CookieJar
import GRDB

/// A browser's table, whose columns depend on the browser's age.
struct BrowserTable: Sendable {
    let name: String
    let columns: Set<String>

    /// The table of a name; nil where there is none.
    init?(_ db: Database, named name: String) throws {
        self.name = name
        guard try db.hasTable(name) else { return nil }
        columns = Set(try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name]))
        if columns.isEmpty { return nil }
    }

    /// Reads all rows of some columns, in the order of one of them. A column that has several names is written with `|`, and
    /// one that is not there is NULL. Texts are read as the octets that they are.
    func forEachRow(
        _ db: Database,
        _ wanted: [String],
        orderedBy order: String,
        _ body: (_ row: inout RowReader, _ number: Int) -> Void
    ) throws {
        let expressions = wanted.map { names in
            names.split(separator: "|").first { columns.contains(String($0)) }.map(Self.expression) ?? "NULL"
        }
        let order = columns.contains(order) ? "\(order), rowid" : "rowid"
        let sql = "SELECT \(expressions.joined(separator: ", ")) FROM \(name) ORDER BY \(order)"
        let cursor = try Row.fetchCursor(db, sql: sql)
        var number = 0
        while let row = try cursor.next() {
            number += 1
            var reader = RowReader(row)
            body(&reader, number)
        }
    }

    /// What a browser calls text need not be UTF-8.
    private static func expression(_ column: Substring) -> String {
        ["name", "value", "encrypted_value"].contains(column) ? "CAST(\(column) AS BLOB)" : String(column)
    }
}

extension CookieTime {
    /// The time that is `number` units of so many microseconds after 1970; what cannot be held is brought to the nearest.
    init(_ number: Int64, unit: Int64, epoch: Int64 = 0) {
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        let (sum, over) = (overflow ? (number > 0 ? .max : .min) : product).addingReportingOverflow(epoch)
        self.init(microseconds: over ? (epoch > 0 ? .max : .min) : sum)
    }
}
