// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import GRDB
import HTTPDNS
import Names
import Testing

@testable import BeelineStore

/// Files with unexpected numbers and tables, and extreme numbers from programs.
@Suite("Hostile files and extreme numbers")
struct HostileFileTests {
    @Test("a file with a negative version counts as damaged", arguments: [-1, -5, Int32.min])
    func negativeVersion(_ version: Int32) async throws {
        let folder = try Folder()
        try await CookieDatabase.open(folder).close()
        try folder.look { try $0.execute(sql: "PRAGMA user_version = \(version)") }
        await #expect {
            _ = try await BrowserProfile.cookies(at: folder.file())
        } throws: { ($0 as? StoreError)?.code == .damaged }
        let store = try await CookieDatabase.open(folder)
        #expect(store.report.setAside != nil)
        try await store.close()
    }

    @Test("a file whose revision cannot be increased counts as damaged", arguments: [Int64.max, .min])
    func lastBatch(_ revision: Int64) async throws {
        let folder = try Folder()
        try await CookieDatabase.open(folder).close()
        try folder.look { try $0.execute(sql: "UPDATE state SET revision = ?", arguments: [revision]) }
        let store = try await CookieDatabase.open(folder)
        #expect(store.report.setAside != nil)
        // The same when another program writes the number into the open file.
        let other = try folder.openDatabase()
        try await other.writeWithoutTransaction {
            try $0.execute(sql: "UPDATE state SET revision = ?", arguments: [revision])
        }
        store.jar.put("a", "1")
        await #expect { try await store.flush() } throws: { ($0 as? StoreError)?.code == .damaged }
        try other.close()
        _ = try? await store.close()
    }

    @Test("times at both ends of 64 bits are read, stored and written")
    func times() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for name in ["a", "b"] { first.jar.put(name, "1") }
        try await first.close()
        try folder.look { db in
            let sql = "UPDATE cookie SET created = ?, accessed = ?, updated = ?, expires = ? WHERE name = ?"
            try db.execute(sql: sql, arguments: [Int64.max, Int64.max, Int64.max, Int64.max, Data("a".utf8)])
            try db.execute(sql: sql, arguments: [Int64.min, Int64.min, Int64.min, Int64.max, Data("b".utf8)])
        }
        let second = try await CookieDatabase.open(folder)
        #expect(Set(second.jar.allCookies().map(\.name)) == ["a", "b"])
        second.jar.put("a", "2")
        second.jar.put("b", "2")
        try await second.flush()
        try await second.close()
        #expect(try await BrowserProfile.cookies(at: folder.file()).cookies.map(\.value) == ["2", "2"])
    }

    @Test("browser times at both ends of 64 bits are limited to the nearest valid time")
    func browserTimes() {
        for unit: Int64 in [1, 1000, 1_000_000] {
            for epoch: Int64 in [0, -11_644_473_600_000_000] {
                #expect(CookieTime(.min, unit: unit, epoch: epoch) == .distantPast)
                #expect(CookieTime(.max, unit: unit, epoch: epoch) >= CookieTime(microseconds: .max + epoch))
            }
        }
    }

    @Test("a browser profile with a view instead of its table is refused, since its rows may be endless")
    func endlessView() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE VIEW moz_cookies (id, host, path, name, value, expiry, isSecure, isHttpOnly) AS
                        WITH RECURSIVE endless (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless)
                        SELECT n, 'a.test', '/', 'n' || n, 'v', 4102444800, 0, 0 FROM endless
                    """
            )
        }
        let path = folder.file("cookies.sqlite")
        let error = await #expect(throws: StoreError.self) {
            try await withTimeLimit(.seconds(60), for: { "a file without an end" }) {
                _ = try await BrowserProfile.cookies(at: path)
            }
        }
        #expect(error?.code == .unknownProfile)
    }

    /// Endless rows with the names of the file's own columns.
    private static let endless = "WITH RECURSIVE endless (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT"

    @Test("a file with a view or a trigger counts as damaged", arguments: ["cookie", "deletion", "state", "trigger"])
    func strangeTables(_ name: String) async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1")
        try await first.close()
        try folder.look { db in
            guard name != "trigger" else {
                return try db.execute(
                    sql: "CREATE TRIGGER t AFTER INSERT ON cookie BEGIN DELETE FROM cookie WHERE domain <> ''; END"
                )
            }
            let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name])
            try db.execute(
                sql: """
                    DROP TABLE \(name);
                    CREATE VIEW \(name) AS \(Self.endless) \(columns.map { "n AS \($0)" }.joined(separator: ", ")) FROM endless
                    """
            )
        }
        let error = await #expect(throws: StoreError.self) {
            try await withTimeLimit(.seconds(60), for: { "a file without an end" }) {
                _ = try await BrowserProfile.cookies(at: folder.file())
            }
        }
        #expect(error?.code == .damaged)
        let store = try await withTimeLimit(.seconds(60), for: { "a file without an end" }) {
            try await CookieDatabase.open(folder)
        }
        #expect(store.report.setAside != nil)
        try await store.close()
    }

    @Test("an answer file with a view instead of its table counts as damaged")
    func endlessAnswers() async throws {
        let folder = try Folder()
        let answers = AnswerDatabase(path: folder.file("answers.sqlite"))
        try await answers.save([])
        try folder.look("answers.sqlite") { db in
            try db.execute(
                sql: "DROP TABLE answer; CREATE VIEW answer AS \(Self.endless) n AS name, n AS said FROM endless"
            )
        }
        let found = try await withTimeLimit(.seconds(60), for: { "a file without an end" }) { try await answers.load() }
        #expect(found.isEmpty)
        #expect(folder.names.contains { $0.hasPrefix("answers.sqlite.damaged-") })
    }

    @Test("a virtual table in place of a browser's table is refused, because it may read an endless view")
    func endlessVirtualTable() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE VIEW v (n, host, path, name, value, expiry, isSecure, isHttpOnly) AS
                        \(Self.endless) n, 'a.test', '/', 'n' || n, 'v', 4102444800, 0, 0 FROM endless;
                    CREATE VIRTUAL TABLE moz_cookies USING
                        fts5(host, path, name, value, expiry, isSecure, isHttpOnly, content='v', content_rowid='n')
                    """
            )
        }
        let path = folder.file("cookies.sqlite")
        let error = await #expect(throws: StoreError.self) {
            try await withTimeLimit(.seconds(60), for: { "an endless virtual table" }) {
                _ = try await BrowserProfile.cookies(at: path)
            }
        }
        #expect(error?.code == .unknownProfile)
    }

    @Test("a column that computes a gigabyte takes no memory, and a jar file that has one is set aside")
    func computedValue() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1")
        try await first.close()
        try folder.look { db in
            let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info('cookie')")
            let special = ["value": "value AS (zeroblob(900000000)) VIRTUAL", "id": "id INTEGER PRIMARY KEY"]
            let definitions = columns.map { special[$0] ?? $0 }
            try db.execute(
                sql: """
                    DROP TABLE cookie;
                    CREATE TABLE cookie (\(definitions.joined(separator: ", ")));
                    INSERT INTO cookie (id, domain, created, expires, revision)
                        VALUES (1, 'a.test', 1, 4102444800000000, 1);
                    """
            )
        }
        let error = await #expect(throws: StoreError.self) { try await BrowserProfile.cookies(at: folder.file()) }
        #expect(error?.code == .damaged)
        let second = try await CookieDatabase.open(folder)
        #expect(second.report.setAside != nil)
        try await second.close()
    }

    @Test("a value that is larger than any cookie is an error")
    func largeValue() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE TABLE moz_cookies (id, host, path, name, value, expiry, isSecure, isHttpOnly);
                    INSERT INTO moz_cookies VALUES (1, 'a.test', '/', 'n', zeroblob(2000000), 4102444800, 0, 0);
                    """
            )
        }
        let error = await #expect(throws: StoreError.self) {
            try await BrowserProfile.cookies(at: folder.file("cookies.sqlite"))
        }
        #expect(error?.code == .damaged)
    }

    @Test("a default value that repeats in each row of a small file does not fill the memory")
    func repeatedDefault() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE TABLE moz_cookies (host DEFAULT 'a.test', path DEFAULT '/', name DEFAULT 'n',
                        expiry DEFAULT 4102444800, isSecure DEFAULT 0, isHttpOnly DEFAULT 0);
                    \(Self.endless.replacing("SELECT n + 1 FROM endless", with: "SELECT n + 1 FROM endless WHERE n < 300")
                        .replacing("WITH", with: "INSERT INTO moz_cookies (host) WITH")) 'a.test' FROM endless;
                    ALTER TABLE moz_cookies ADD COLUMN value TEXT DEFAULT '\(String(repeating: "x", count: 500_000))';
                    """
            )
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("cookies.sqlite"))).count < 2_000_000)
        let error = await #expect(throws: StoreError.self) {
            try await BrowserProfile.cookies(at: folder.file("cookies.sqlite"))
        }
        #expect(error?.code == .damaged)
    }

    /// A folder with a jar file of one cookie and `rows` more. Each has the same value, which the file stores once.
    private static func jar(rows: Int, valueOctets: Int) async throws -> Folder {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        first.jar.put("a", "1")
        try await first.close()
        try folder.look { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < \(rows))
                    INSERT INTO cookie (domain, is_host_only, path, partition, name, value, created, accessed, expires,
                            is_secure, is_http_only, same_site, updated, revision)
                        SELECT 'a.test', 1, '/', '', CAST('n' || n AS BLOB), x'', created, accessed, expires,
                            0, 0, 0, updated, revision FROM count, cookie;
                    ALTER TABLE cookie DROP COLUMN value;
                    ALTER TABLE cookie ADD COLUMN value BLOB NOT NULL
                        DEFAULT x'\(String(repeating: "78", count: valueOctets))';
                    """
            )
        }
        return folder
    }

    @Test("a jar file whose default value repeats in each row does not fill the memory, and is set aside")
    func repeatedDefaultInJar() async throws {
        let folder = try await Self.jar(rows: 300, valueOctets: 500_000)
        // SQLite finds no fault in the file, so only its size is the reason to set it aside.
        let rows = try folder.look {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie WHERE length(value) = 500000")
        }
        #expect(rows == 301)
        let second = try await CookieDatabase.open(folder)
        #expect(second.report.setAside != nil && second.jar.allCookies().isEmpty)
        try await second.close()
    }

    @Test("an import fails if a file has more rows or octets than any browser stores")
    func budget() throws {
        var (rows, octets) = (ReadBudget(), ReadBudget())
        for _ in 0..<ReadBudget.maxRows { try rows.take(0) }
        #expect(throws: DatabaseError.self) { try rows.take(0) }
        for _ in 0..<ReadBudget.maxOctets / ReadBudget.maxRowOctets { try octets.take(ReadBudget.maxRowOctets) }
        #expect(throws: DatabaseError.self) { try octets.take(1) }
        var row = ReadBudget()
        #expect(throws: DatabaseError.self) { try row.take(ReadBudget.maxRowOctets + 1) }
    }

    @Test("a jar that is full of the longest cookies can be read again", arguments: [3_000, 100_000])
    func fullJar(_ maxCookies: Int) async throws {
        let label = String(repeating: "a", count: 63)
        let domain = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        let url = try HTTPURL("https://\(domain)/\(String(repeating: "p", count: 1_023))/page")
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        let name = String(repeating: "n", count: 4_096)
        #expect(first.jar.store("\(name)=; Max-Age=60; Secure; Partitioned", from: url) == .kept)
        try await first.close()
        let sql = "SELECT length(domain) + length(path) + length(partition) + length(name) + length(value) FROM cookie"
        let found = try folder.look { try Int.fetchOne($0, sql: sql) }
        let size = try #require(found)
        #expect((4_096 + 1_024 + 253...Cookie.maxOctets).contains(size))
        // The file would have 18 MB, or 560 MB, so this only calculates.
        var limits = CookieJarConfiguration()
        limits.maxCookies = maxCookies
        #expect((maxCookies + maxCookies / 10) * size <= ReadBudget(for: limits).maxOctets)
        let second = try await CookieDatabase.open(folder, jar: limits)
        #expect(second.report.loaded == 1)
        try await second.close()
        limits.maxCookies = .max
        #expect(ReadBudget(for: limits).maxOctets == ReadBudget.maxOctetsOfJar)
    }

    @Test("cookies with long paths of an earlier version are removed from the file, and the others are read")
    func longPaths() async throws {
        let folder = try Folder()
        let first = try await CookieDatabase.open(folder)
        for name in ["a", "b"] { first.jar.put(name, "1") }
        try await first.close()
        try folder.look { db in
            let path = "/" + String(repeating: "p", count: 60_000)
            try db.execute(sql: "UPDATE cookie SET path = ? WHERE name = ?", arguments: [path, Data("a".utf8)])
        }
        let second = try await CookieDatabase.open(folder)
        #expect(second.jar.allCookies().map(\.name) == ["b"] && second.report.skipped == 1)
        #expect(second.report.messages.contains { $0.hasSuffix(": 1 rows are not cookies that this jar can hold") })
        try await second.close()
        #expect(try folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie") } == 1)
    }

    @Test("a jar file with more cookies than can be read is not set aside as damaged")
    func largeJar() async throws {
        // 140 MB of values.
        let folder = try await Self.jar(rows: 35_000, valueOctets: 4_000)
        let error = await #expect(throws: StoreError.self) { _ = try await CookieDatabase.open(folder) }
        #expect(error?.code == .failed)
        #expect(!folder.names.contains { $0.contains("damaged") })
        let rows = try folder.look { try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie") }
        #expect(rows == 35_001)
    }

    @Test("a cancelled import stops, even in the middle of a statement")
    func cancelled() async throws {
        let folder = try Folder()
        try await CookieDatabase.open(folder).close()
        let reading = Task { try await BrowserProfile.cookies(at: folder.file()) }
        reading.cancel()
        let error = await #expect(throws: StoreError.self) { try await reading.value }
        #expect(error?.code == .cancelled)

        let path = folder.file()
        let (began, begin) = AsyncStream<Void>.makeStream()
        let computing = Task {
            try await FileConnection.offPool { stop throws(StoreError) in
                let connection = try FileConnection(path: path, busyTimeout: .zero)
                defer { try? connection.close() }
                return try connection.perform(stoppedBy: stop) { db in
                    begin.yield()
                    return try Int.fetchOne(db, sql: "\(Self.endless) count(*) FROM endless")
                }
            }
        }
        for await _ in began { break }
        computing.cancel()
        let end = await #expect(throws: StoreError.self) { try await computing.value }
        #expect(end?.code == .cancelled)
    }

    @Test("opening a file that was deleted while another program uses it fails, and creates no new file")
    func deletedMeanwhile() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(folder)
        try FileManager.default.removeItem(atPath: folder.file())
        await #expect {
            _ = try await CookieDatabase.open(folder)
        } throws: { ($0 as? StoreError)?.code == .inUse }
        #expect(!folder.names.contains("jar.sqlite"))
        _ = try? await store.close()
    }

    @Test("intervals of zero do not keep a processor busy")
    func noInterval() {
        var configuration = CookieDatabaseConfiguration()
        (configuration.refreshInterval, configuration.accessInterval) = (.zero, .zero)
        var schedule = WriteSchedule(configuration)
        #expect(schedule.next(pending: 0, now: .zero) == .wait(until: WriteSchedule.shortestInterval))
    }

    @Test("a file is not set aside when SQLite runs out of memory")
    func lackOfMemory() {
        for code in [ResultCode.SQLITE_NOMEM, .SQLITE_PROTOCOL, .SQLITE_INTERRUPT] {
            let error = StoreError(DatabaseError(resultCode: code), path: "jar.sqlite")
            #expect(error.code == .failed && !error.isOfSchema)
        }
        // The limit is far above any value that a jar writes, so a larger value is damage.
        #expect(StoreError(DatabaseError(resultCode: .SQLITE_TOOBIG), path: "jar.sqlite").code == .damaged)
        #expect(StoreError(DatabaseError(resultCode: .SQLITE_ERROR), path: "jar.sqlite").isOfSchema)
    }

    @Test("a full disk is reported as full, also when there is no room for SQLite's shared memory file")
    func fullDisk() {
        for code in [ResultCode.SQLITE_FULL, .SQLITE_IOERR_SHMSIZE] {
            #expect(StoreError(DatabaseError(resultCode: code), path: "jar.sqlite").code == .diskFull)
        }
        #expect(StoreError(DatabaseError(resultCode: .SQLITE_IOERR_READ), path: "jar.sqlite").code == .inputOutput)
    }

    @Test("durations of any length are accepted without a trap")
    func forever() async throws {
        let folder = try Folder()
        var configuration = CookieDatabaseConfiguration()
        configuration.writeDelay = .seconds(Int64.max)
        configuration.refreshInterval = .seconds(Int64.max)
        configuration.accessInterval = .seconds(Int64.max)
        configuration.busyTimeout = .seconds(Int64.max)
        let store = try await CookieDatabase.open(folder, configuration)
        store.jar.put("a", "1")
        try await store.flush()
        try await store.close()
        let answers = AnswerDatabase(
            path: folder.file("answers.sqlite"),
            busyTimeout: .seconds(Int64.max),
            maxAnswers: -1
        )
        try await answers.save([StoredAnswer(name: "a.test", network: "", upstream: "one")])
        #expect(try await answers.load().isEmpty)
    }

    @Test("a batch that keeps failing is retried within a minute, even with a longer write delay")
    func longDelay() {
        var configuration = CookieDatabaseConfiguration()
        configuration.writeDelay = .seconds(Int64.max)
        var schedule = WriteSchedule(configuration)
        for _ in 0..<100 { schedule.did(.write(withAccess: true), succeeded: false, now: .seconds(1)) }
        #expect(schedule.next(pending: 1, now: .seconds(61)) == .write(withAccess: true))
    }

    #if os(Linux)
    @Test("reading the cookies of a file that is open in this process keeps SQLite's locks on it")
    func locksOfThisProcess() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.flush()
        let before = try Self.locks(folder.file())
        #expect(before > 0)
        for _ in 0..<3 {
            #expect(try await BrowserProfile.cookies(at: folder.file()).cookies.map(\.name) == ["a"])
            #expect(try Self.locks(folder.file()) == before)
        }
        #expect(try Self.descriptors(folder.file()) <= 2)
        try await store.close()
        // Once the store is closed, no descriptor of this process is left.
        #expect(try await BrowserProfile.cookies(at: folder.file()).cookies.map(\.name) == ["a"])
        #expect(try Self.descriptors(folder.file()) == 0)
    }

    @Test("no descriptor is closed while SQLite opens a file, because the close could release SQLite's locks")
    func closedMeanwhile() throws {
        let folder = try Folder()
        let path = folder.file("other")
        try Data("x".utf8).write(to: URL(fileURLWithPath: path))
        let descriptor = LockedFiles.open(path)
        LockedFiles.whileOpening {
            LockedFiles.close(descriptor)
            #expect(fcntl(descriptor, F_GETFD) >= 0)
        }
        #expect(try Self.descriptors(path) == 0)
    }

    private static func number(_ path: String) throws -> UInt64 {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber).uint64Value
    }

    /// The number of POSIX locks that this process holds on a file.
    private static func locks(_ path: String) throws -> Int {
        let suffix = ":\(try number(path))"
        return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").count { line in
            let words = line.split(separator: " ")
            return words.contains("POSIX") && words.contains("\(getpid())") && words.contains { $0.hasSuffix(suffix) }
        }
    }

    /// The number of this process's descriptors for a file.
    private static func descriptors(_ path: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }
    #endif
}
