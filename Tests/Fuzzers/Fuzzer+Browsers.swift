// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB

@testable import BeelineStore

extension Fuzzer {
    /// Rows of browsers' cookie databases. The bytes select columns and the values that replace the ordinary ones.
    static let browsers: [Fuzzer] = [
        Fuzzer("firefox-row", seeds: [[0], [2, 3, 255, 1, 0, 9, 65, 66]]) { bytes in
            try read(bytes, schema: firefox) { try FirefoxCookies($0, version: 12, container: 0).read($1) }
        },
        Fuzzer("chromium-row", seeds: [[0], [2, 3, 255, 1, 0, 9, 65, 66]]) { bytes in
            try read(bytes, schema: chromium) { try ChromiumCookies($0).read($1) }
        },
    ]

    private typealias Columns = [(name: String, value: any DatabaseValueConvertible & Sendable)]

    private static let firefox: Columns = [
        ("id", 1), ("originAttributes", "^partitionKey=%28https%2Cexample.com%29"), ("name", "n"), ("value", "v"),
        ("host", ".example.com"), ("path", "/"), ("expiry", 1_800_000_000), ("lastAccessed", 1_772_366_400_000_000),
        ("creationTime", 1_772_366_400_000_000), ("isSecure", 1), ("isHttpOnly", 0), ("sameSite", 1),
        ("rawSameSite", 1), ("schemeMap", 2), ("isPartitionedAttributeSet", 1),
    ]

    private static let chromium: Columns = [
        ("creation_utc", 13_400_000_000_000_000), ("host_key", ".example.com"),
        ("top_frame_site_key", "https://a.test"),
        ("name", "n"), ("value", "v"), ("encrypted_value", ""), ("path", "/"), ("expires_utc", 13_500_000_000_000_000),
        ("is_secure", 1), ("is_httponly", 0), ("last_access_utc", 13_400_000_000_000_000), ("has_expires", 1),
        ("is_persistent", 1), ("samesite", 1), ("source_scheme", 2), ("source_port", 443),
        ("last_update_utc", 13_400_000_000_000_000),
    ]

    private static let database = try? DatabaseQueue()

    private static func read(
        _ bytes: [UInt8],
        schema columns: Columns,
        body: (BrowserTable, Database) throws -> some Any
    ) throws {
        var values = columns.map(\.value.databaseValue)
        var rest = bytes[...]
        while let column = rest.popFirst(), let kind = rest.popFirst() {
            let count = min(Int(kind >> 2), rest.count)
            let content = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let number = content.prefix(8).reduce(into: Int64(0)) { $0 = $0 << 8 | Int64($1) }
            values[Int(column) % values.count] =
                switch kind & 3 {
                case 0: number.databaseValue
                case 1: Double(bitPattern: UInt64(bitPattern: number)).databaseValue
                case 2: String(decoding: content, as: UTF8.self).databaseValue
                default: count == 0 ? .null : Data(content).databaseValue
                }
        }
        try database?.write { db in
            let names = columns.map(\.name)
            try db.execute(sql: "DROP TABLE IF EXISTS cookies")
            try db.execute(sql: "CREATE TABLE cookies (\(names.joined(separator: ", ")))")
            let marks = Array(repeating: "?", count: names.count).joined(separator: ", ")
            try db.execute(sql: "INSERT INTO cookies VALUES (\(marks))", arguments: StatementArguments(values))
            if let table = try BrowserTable(db, named: "cookies") { _ = try body(table, db) }
        }
    }
}
