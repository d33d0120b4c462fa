// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

@testable import BeelineStore

extension Fuzzer {
    /// Rows of browsers' cookie databases. The bytes select columns and the values that replace the ordinary ones.
    static let browsers: [Fuzzer] = [
        Fuzzer("firefox-row", seeds: seeds) { bytes in
            try firefox.readRow(from: bytes) { try FirefoxCookies($0, version: 12, container: 0).read($1) }
        },
        Fuzzer("chromium-row", seeds: seeds) { bytes in
            try chromium.readRow(from: bytes) { try ChromiumCookies($0).read($1) }
        },
    ]

    private static let seeds: [[UInt8]] = [[0], [2, 3, 255, 1, 0, 9, 65, 66]]

    private static let firefox = CookieTable([
        ("id", 1), ("originAttributes", "^partitionKey=%28https%2Cexample.com%29"), ("name", "n"), ("value", "v"),
        ("host", ".example.com"), ("path", "/"), ("expiry", 1_800_000_000), ("lastAccessed", 1_772_366_400_000_000),
        ("creationTime", 1_772_366_400_000_000), ("isSecure", 1), ("isHttpOnly", 0), ("sameSite", 1),
        ("rawSameSite", 1), ("schemeMap", 2), ("isPartitionedAttributeSet", 1),
    ])

    private static let chromium = CookieTable([
        ("creation_utc", 13_400_000_000_000_000), ("host_key", ".example.com"),
        ("top_frame_site_key", "https://a.test"),
        ("name", "n"), ("value", "v"), ("encrypted_value", ""), ("path", "/"), ("expires_utc", 13_500_000_000_000_000),
        ("is_secure", 1), ("is_httponly", 0), ("last_access_utc", 13_400_000_000_000_000), ("has_expires", 1),
        ("is_persistent", 1), ("samesite", 1), ("source_scheme", 2), ("source_port", 443),
        ("last_update_utc", 13_400_000_000_000_000),
    ])
}

/// A table in memory that holds one row. It is made once, because making it takes longer than reading the row.
private struct CookieTable: Sendable {
    private let defaults: [DatabaseValue]
    private let database: DatabaseQueue?
    private let table: BrowserTable?

    init(_ columns: [(name: String, value: any DatabaseValueConvertible)]) {
        defaults = columns.map(\.value.databaseValue)
        database = try? DatabaseQueue()
        let names = columns.map(\.name).joined(separator: ", ")
        table = try? database?.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF; CREATE TABLE cookies (\(names))")
            return try BrowserTable(db, named: "cookies")
        }
    }

    func readRow(from bytes: [UInt8], body: (BrowserTable, Database) throws -> some Any) throws {
        guard let database, let table else { violation("SQLite makes no table in memory") }
        let values = values(from: bytes)
        try database.writeWithoutTransaction { db in
            try db.cachedStatement(sql: "DELETE FROM cookies").execute()
            let marks = values.map { _ in "?" }.joined(separator: ", ")
            let insertion = try db.cachedStatement(sql: "INSERT INTO cookies VALUES (\(marks))")
            try insertion.execute(arguments: StatementArguments(values))
            _ = try body(table, db)
        }
    }

    private func values(from bytes: [UInt8]) -> [DatabaseValue] {
        var values = defaults
        var rest = bytes[...]
        while let column = rest.popFirst(), let kind = rest.popFirst() {
            let content = Array(rest.prefix(Int(kind >> 2)))
            rest = rest.dropFirst(content.count)
            let number = content.prefix(8).reduce(into: Int64(0)) { $0 = $0 << 8 | Int64($1) }
            values[Int(column) % values.count] =
                switch kind & 3 {
                case 0: number.databaseValue
                case 1: Double(bitPattern: UInt64(bitPattern: number)).databaseValue
                case 2: String(decoding: content, as: UTF8.self).databaseValue
                default: content.isEmpty ? .null : Data(content).databaseValue
                }
        }
        return values
    }
}
