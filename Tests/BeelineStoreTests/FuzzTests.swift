// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import GRDB
import Testing

@testable import BeelineStore

@Suite("Fuzzing of files")
struct FuzzTests {
    /// The number of inputs: `BEELINE_FUZZ`, or a number that suits the ordinary suite.
    private static func count(_ ordinary: Int) -> Int {
        FuzzRounds.count(ordinary: ordinary)
    }

    /// A random value of any type that a column can have.
    private static func value(_ random: inout SeededRandom) -> DatabaseValue {
        let texts = [
            "", "/", "example.com", ".example.com", "https://example.com", "/a\u{0}b", "[::1]", "^partitionKey=%28x",
            "é",
            "^userContextId=1&partitionKey=%28https%2Cexample.com%2Cf%29", "192.0.2.1", "no good", "com",
        ]
        let numbers: [Int64] = [
            0, 1, 2, 3, 256, -1, .max, .min, 1_772_366_400, 1_772_366_400_000, 1_800_000_000_000_000,
            13_400_000_000_000_000,
        ]
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .null
        case 1: return Double.random(in: -1e300...1e300, using: &random).databaseValue
        case 2:
            return Data(
                (0..<Int.random(in: 0..<40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            ).databaseValue
        case 3: return Int64(bitPattern: random.next()).databaseValue
        case 4, 5: return (numbers.randomElement(using: &random) ?? 0).databaseValue
        default: return (texts.randomElement(using: &random) ?? "").databaseValue
        }
    }

    /// The row of a cookie, with random values in a few columns.
    private static func row(_ random: inout SeededRandom) -> [DatabaseValue] {
        let cookie = Cookie(
            nameOctets: Array("n\(random.next() % 10)".utf8),
            valueOctets: [0xff, UInt8(truncatingIfNeeded: random.next() | 0x80)],
            domain: "example.com",
            isHostOnly: random.next() % 2 == 0,
            expires: random.next() % 2 == 0 ? nil : .after(60),
            created: .after(-1),
            isSecure: true,
            sameSite: Cookie.SameSite.allCases.randomElement(using: &random) ?? .lax,
            partition: random.next() % 4 == 0 ? Site("https://top.example") : nil
        )
        var values = CookieRow(cookie, updated: 5, revision: 1).arguments.map(\.databaseValue)
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            values[Int.random(in: values.indices, using: &random)] = value(&random)
        }
        return values
    }

    private static func cookie(_ row: Row) -> CookieRow? {
        var reader = RowReader(row)
        return CookieRow(&reader)
    }

    @Test("a row that is read as a cookie is written as the same row, and other rows are refused")
    func rows() throws {
        var random = SeededRandom(seed: 3)
        let queue = try DatabaseQueue()
        var cookies = 0
        try queue.writeWithoutTransaction { db in
            let marks = Array(repeating: "?", count: 14).joined(separator: ", ")
            let statement = try db.makeStatement(sql: "SELECT \(marks)")
            for _ in 0..<Self.count(10_000) {
                let values = Self.row(&random)
                guard let row = try Row.fetchOne(statement, arguments: StatementArguments(values)) else { continue }
                guard let read = Self.cookie(row) else { continue }
                cookies += 1
                let written = read.arguments.map(\.databaseValue)
                let again = try Row.fetchOne(statement, arguments: StatementArguments(written)).flatMap {
                    Self.cookie($0)
                }
                #expect(again == read)
                // The jar checks more than the row does, and must not trap.
                CookieJar(clock: { noon }).insert(read.cookie)
            }
        }
        #expect(cookies > Self.count(10_000) / 5)
    }

    @Test("a file with damaged octets is opened or set aside, and can be written afterwards")
    func files() async throws {
        var random = SeededRandom(seed: 4)
        let model = try Folder()
        let first = try await CookieDatabase.open(model)
        for number in 0..<40 { first.jar.put("n\(number)", String(repeating: "v", count: 100)) }
        try await first.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: model.file()))
        var (opened, setAside, refused) = (0, 0, 0)
        for _ in 0..<min(Self.count(40), 20_000) {
            let folder = try Folder()
            var bytes = whole
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            if random.next() % 8 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            try bytes.write(to: URL(fileURLWithPath: folder.file()))
            do throws(StoreError) {
                let store = try await CookieDatabase.open(folder.file(), configuration: .onDemand, clock: { noon })
                if store.report.setAside == nil { opened += 1 } else { setAside += 1 }
                store.jar.put("new", "1")
                try await store.close()
            } catch {
                // The damage hit the application ID or the version in the header.
                #expect(error.code == .notOurs || error.code == .newerSchema, "\(error)")
                refused += 1
            }
        }
        #expect(setAside > 0)
        #expect(refused < 20)
    }

    @Test("browser tables with random values are read without a trap")
    func browsers() async throws {
        var random = SeededRandom(seed: 5)
        for columns in [ImportTests.firefoxColumns, ImportTests.chromiumColumns] {
            let table = columns == ImportTests.firefoxColumns ? "moz_cookies" : "cookies"
            for version in [0, 12, 17] {
                let folder = try Folder()
                let rows = Self.count(10_000) / 6
                try folder.makeDatabase("profile") { db in
                    try db.execute(
                        sql:
                            "CREATE TABLE \(table) (\(columns.joined(separator: ", "))); PRAGMA user_version = \(version)"
                    )
                    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
                    try db.inTransaction {
                        let statement = try db.makeStatement(sql: "INSERT INTO \(table) VALUES (\(marks))")
                        for _ in 0..<rows {
                            let values = columns.map { column in
                                random.next() % 8 == 0 ? Self.value(&random) : ImportTests.ordinary(column)
                            }
                            try statement.execute(arguments: StatementArguments(values))
                        }
                        return .commit
                    }
                }
                let found = try await BrowserProfile.cookies(at: folder.file("profile"))
                #expect(found.cookies.count + found.problems.count <= rows)
                #expect(found.cookies.count > rows / 8)
                #expect(found.problems.count > rows / 8)
                let jar = CookieJar(clock: { noon })
                for cookie in found.cookies.prefix(2000) { jar.insert(cookie) }
            }
        }
    }
}
