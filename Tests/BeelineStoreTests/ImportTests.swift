// SPDX-License-Identifier: Apache-2.0

import CookieJar
import Foundation
import GRDB
import Names
import Testing

@testable import BeelineStore

@Suite("Cookies from browsers")
struct ImportTests {
    static let firefoxColumns = [
        "id", "originAttributes", "name", "value", "host", "path", "expiry", "lastAccessed", "creationTime", "isSecure",
        "isHttpOnly", "inBrowserElement", "sameSite", "rawSameSite", "schemeMap", "isPartitionedAttributeSet",
    ]
    static let chromiumColumns = [
        "creation_utc", "host_key", "top_frame_site_key", "name", "value", "encrypted_value", "path", "expires_utc",
        "is_secure", "is_httponly", "last_access_utc", "has_expires", "is_persistent", "priority", "samesite",
        "source_scheme", "source_port", "last_update_utc", "source_type", "has_cross_site_ancestor",
    ]

    /// A valid value for a column.
    static func ordinary(_ column: String) -> DatabaseValue {
        switch column {
        case "host", "host_key": ".example.com".databaseValue
        case "path": "/".databaseValue
        case "name", "value": "x".databaseValue
        case "encrypted_value", "originAttributes", "top_frame_site_key": "".databaseValue
        case "id": .null
        default: 1.databaseValue
        }
    }

    private static let firefox17 = """
        CREATE TABLE moz_cookies (
            id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT, value TEXT, host TEXT, path TEXT,
            expiry INTEGER, lastAccessed INTEGER, creationTime INTEGER, isSecure INTEGER, isHttpOnly INTEGER,
            inBrowserElement INTEGER DEFAULT 0, sameSite INTEGER DEFAULT 0, schemeMap INTEGER DEFAULT 0,
            isPartitionedAttributeSet INTEGER DEFAULT 0, updateTime INTEGER,
            CONSTRAINT moz_uniqueid UNIQUE (name, host, path, originAttributes));
        PRAGMA user_version = 17;
        """

    private static let chromium24 = """
        CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);
        INSERT INTO meta VALUES ('version', '24');
        CREATE TABLE cookies(creation_utc INTEGER NOT NULL, host_key TEXT NOT NULL, top_frame_site_key TEXT NOT NULL,
            name TEXT NOT NULL, value TEXT NOT NULL, encrypted_value BLOB NOT NULL, path TEXT NOT NULL,
            expires_utc INTEGER NOT NULL, is_secure INTEGER NOT NULL, is_httponly INTEGER NOT NULL,
            last_access_utc INTEGER NOT NULL, has_expires INTEGER NOT NULL, is_persistent INTEGER NOT NULL,
            priority INTEGER NOT NULL, samesite INTEGER NOT NULL, source_scheme INTEGER NOT NULL,
            source_port INTEGER NOT NULL, last_update_utc INTEGER NOT NULL, source_type INTEGER NOT NULL,
            has_cross_site_ancestor INTEGER NOT NULL);
        """

    @Test("profiles of Firefox 142 and later are read with all relevant columns")
    func firefox() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: Self.firefox17 + """
                    INSERT INTO moz_cookies VALUES
                        (1, '', 'sid', 'é', '.example.com', '/a', 1803902400123, 1772366400000001, 1772366300000002,
                            1, 1, 0, 1, 2, 0, 0),
                        (2, '', 'host', '', 'www.example.com', '/', 1803902400000, 2, 1772366300000003,
                            0, 0, 0, 256, 1, 0, 0),
                        (3, '^partitionKey=%28https%2Ctop.example%2Cf%29', '__Host-p', '1', 'w.example.com', '/',
                            1803902400000, 2, 1772366300000004, 1, 0, 0, 0, 2, 1, 0),
                        (4, '^userContextId=2', 'work', '1', 'example.com', '/', 1803902400000, 2, 5, 1, 0, 0, 2, 2, 0, 0),
                        (5, '^privateBrowsingId=1', 'private', '1', 'example.com', '/', 1803902400000, 2, 5,
                            1, 0, 0, 2, 2, 0, 0),
                        (6, '', 'v6', '1', '2001:db8::1', '/', 1803902400000, 2, 1772366300000006, 0, 0, 0, 2, 2, 0, 0),
                        (7, 'what?', 'odd', '1', 'example.com', '/', 1803902400000, 2, 1772366300000007, 0, 0, 0, 2, 2, 0, 0),
                        (8, '', 'null', '1', NULL, '/', 1803902400000, 2, 1772366300000008, 0, 0, 0, 2, 2, 0, 0);
                    """
            )
        }
        let found = try await BrowserProfile.cookies(at: folder.path)
        #expect(
            found.cookies == [
                Cookie(
                    nameOctets: Array("sid".utf8),
                    valueOctets: Array("é".utf8),
                    domain: "example.com",
                    isHostOnly: false,
                    path: "/a",
                    expires: CookieTime(microseconds: 1_803_902_400_123_000),
                    created: CookieTime(microseconds: 1_772_366_300_000_002),
                    lastAccessed: CookieTime(microseconds: 1_772_366_400_000_001),
                    isSecure: true,
                    isHTTPOnly: true,
                    sameSite: .lax
                ),
                Cookie(
                    nameOctets: Array("host".utf8),
                    valueOctets: [],
                    domain: "www.example.com",
                    expires: CookieTime(microseconds: 1_803_902_400_000_000),
                    created: CookieTime(microseconds: 1_772_366_300_000_003),
                    lastAccessed: CookieTime(microseconds: 2)
                ),
                Cookie(
                    nameOctets: Array("__Host-p".utf8),
                    valueOctets: [0x31],
                    domain: "w.example.com",
                    expires: CookieTime(microseconds: 1_803_902_400_000_000),
                    created: CookieTime(microseconds: 1_772_366_300_000_004),
                    lastAccessed: CookieTime(microseconds: 2),
                    isSecure: true,
                    sameSite: .none,
                    partition: Site("https://top.example")
                ),
                Cookie(
                    nameOctets: Array("v6".utf8),
                    valueOctets: [0x31],
                    domain: "[2001:db8::1]",
                    expires: CookieTime(microseconds: 1_803_902_400_000_000),
                    created: CookieTime(microseconds: 1_772_366_300_000_006),
                    lastAccessed: CookieTime(microseconds: 2),
                    sameSite: .strict
                ),
            ]
        )
        #expect(found.problems.map(\.line) == [7, 8])
        // The jar accepts the browser's cookies.
        let jar = CookieJar(clock: { noon })
        for outcome in jar.insert(found.cookies) { #expect(outcome == .kept) }
        let work = try await BrowserProfile.cookies(at: folder.path, container: 2)
        #expect(work.cookies.map(\.name) == ["work"])
    }

    @Test("profiles of older Firefox versions and of libsoup are read")
    func older() async throws {
        let folder = try Folder()
        try folder.makeDatabase("cookies.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '', name TEXT,
                        value TEXT, host TEXT, path TEXT, expiry INTEGER, lastAccessed INTEGER, creationTime INTEGER,
                        isSecure INTEGER, isHttpOnly INTEGER, inBrowserElement INTEGER DEFAULT 0,
                        sameSite INTEGER DEFAULT 0, rawSameSite INTEGER DEFAULT 0, schemeMap INTEGER DEFAULT 0);
                    PRAGMA user_version = 12;
                    INSERT INTO moz_cookies VALUES
                        (1, '', 'absent', '1', 'example.com', '/', 1803902400, 1, 1, 1, 0, 0, 1, 0, 2),
                        (2, '', 'lax', '1', 'example.com', '/', 1803902400, 1, 2, 1, 0, 0, 1, 1, 2),
                        (3, '', 'none', '1', 'example.com', '/', 1803902400, 1, 3, 1, 0, 0, 0, 0, 2),
                        (4, '', 'insecure', '1', 'example.com', '/', 1803902400, 1, 4, 0, 0, 0, 0, 0, 2);
                    """
            )
        }
        let found = try await BrowserProfile.cookies(at: folder.file("cookies.sqlite"))
        #expect(found.cookies.map(\.sameSite) == [.unspecified, .lax, .none, .unspecified])
        #expect(found.cookies.allSatisfy { $0.expires == CookieTime(secondsSince1970: 1_803_902_400) })

        try folder.makeDatabase("soup.sqlite") { db in
            try db.execute(
                sql: """
                    CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, name TEXT, value TEXT, host TEXT, path TEXT,
                        expiry INTEGER, lastAccess INTEGER, isSecure INTEGER, isHttpOnly INTEGER, sameSite INTEGER);
                    INSERT INTO moz_cookies VALUES (1, 'a', 'b', '.example.com', '/', 1803902400, NULL, 0, 0, 2);
                    """
            )
        }
        let soup = try await BrowserProfile.cookies(at: folder.file("soup.sqlite"))
        #expect(soup.cookies.map(\.sameSite) == [.strict])
        #expect(soup.cookies.first?.created == .distantPast)
    }

    @Test("profiles of Chromium are read, and encrypted cookies are reported")
    func chromium() async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(
            atPath: folder.file("Default/Network"),
            withIntermediateDirectories: true
        )
        try folder.makeDatabase("Default/Network/Cookies") { db in
            try db.execute(
                sql: Self.chromium24 + """
                    INSERT INTO cookies VALUES
                        (13416840000000001, '.example.com', '', 'sid', 'v', x'', '/a', 13448376000000000, 1, 1,
                            13416840100000000, 1, 1, 1, 0, 2, 443, 0, 1, 0),
                        (13416840000000002, 'example.com', '', 'session', 'v', x'', '/', 0, 0, 0, 0, 0, 0, 1, -1, 1, 80, 0, 1, 0),
                        (13416840000000003, 'example.com', 'https://top.example', 'p', 'v', x'', '/', 13448376000000000,
                            1, 0, 0, 1, 1, 1, 2, 2, 443, 0, 1, 1),
                        (13416840000000004, 'example.com', '', 'secret', '', x'763130FFFF', '/', 13448376000000000,
                            1, 0, 0, 1, 1, 1, 1, 2, 443, 0, 1, 0);
                    """
            )
        }
        let found = try await BrowserProfile.cookies(at: folder.path)
        #expect(found.cookies.map(\.name) == ["sid", "session", "p"])
        #expect(found.cookies.map(\.isHostOnly) == [false, true, true])
        #expect(found.cookies.map(\.sameSite) == [.none, .unspecified, .strict])
        #expect(found.cookies.map(\.partition) == [nil, nil, Site("https://top.example")])
        #expect(found.cookies.map(\.expires?.secondsSince1970) == [1_803_902_400, nil, 1_803_902_400])
        #expect(found.cookies[0].created == CookieTime(microseconds: 1_772_366_400_000_001))
        #expect(found.cookies[0].lastAccessed == CookieTime(microseconds: 1_772_366_500_000_000))
        #expect(found.cookies[1].lastAccessed == found.cookies[1].created)
        #expect(found.problems.map(\.line) == [4])
        #expect(found.problems.first?.reason.contains("encrypted") == true)
        let jar = CookieJar(clock: { noon })
        for outcome in jar.insert(found.cookies) { #expect(outcome == .kept) }
    }

    @Test("values that Chromium on Linux encrypts without a keyring are read, if they belong to their host")
    func chromiumWithoutKeyring() async throws {
        let folder = try Folder()
        // A value of Chromium 156 with --password-store=basic.
        let sealed =
            "7631304A3E1E375973954BCAED21F40FDD3A746A31FC2FF7ACAF879C4C9A8F34FABE2D131F41F96BA2B3FD0F1F21FA82936442"
        try folder.makeDatabase("Cookies") { db in
            try db.execute(sql: Self.chromium24)
            for host in ["a.test", "b.test"] {
                try db.execute(
                    sql: """
                        INSERT INTO cookies VALUES
                            (13416840000000001, '\(host)', '', 'sid', '', x'\(sealed)', '/', 13448376000000000, 1, 1,
                                13416840100000000, 1, 1, 1, 0, 2, 443, 0, 1, 0);
                        """
                )
            }
        }
        let found = try await BrowserProfile.cookies(at: folder.path)
        #expect(found.cookies.map(\.value) == ["1"] && found.cookies.map(\.domain) == ["a.test"])
        #expect(found.problems.map(\.line) == [2])
    }

    @Test("a profile in use is read with its log despite the browser's lock, and stays unchanged")
    func live() async throws {
        let folder = try Folder()
        let browser = try folder.openDatabase("cookies.sqlite")
        try await browser.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;" + Self.firefox17)
            for number in 0..<100 {
                try db.execute(
                    sql: """
                        INSERT INTO moz_cookies (name, value, host, path, expiry, creationTime, isSecure, isHttpOnly)
                        VALUES ('n\(number)', 'v', 'example.com', '/', 1803902400000, \(number), 0, 0)
                        """
                )
            }
            // Firefox holds an exclusive lock in the same way.
            try db.execute(
                sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; INSERT INTO moz_cookies (name) VALUES ('x')"
            )
        }
        let before = try Self.contents(folder)
        #expect(before.keys.contains("cookies.sqlite-wal"))
        let found = try await BrowserProfile.cookies(at: folder.path)
        #expect(found.cookies.count == 100)
        #expect(found.problems.isEmpty)
        #expect(try Self.contents(folder) == before)
        try await browser.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try browser.close()
    }

    @Test("a journal left by a crashed browser is applied to the copy and not to the profile")
    func journal() async throws {
        let folder = try Folder()
        let browser = try folder.openDatabase("Cookies")
        try await browser.writeWithoutTransaction { db in
            try db.execute(sql: Self.chromium24)
            try db.execute(
                sql: """
                    INSERT INTO cookies VALUES (1, 'example.com', '', 'kept', 'v', x'', '/', 0, 0, 0, 0, 0, 0, 1, -1, 1, 80, 0, 1, 0);
                    PRAGMA cache_size = 1; BEGIN IMMEDIATE; DELETE FROM cookies;
                    """
            )
            // So many rows that pages reach the file before the transaction ends.
            for number in 0..<2000 {
                try db.execute(
                    sql:
                        "INSERT INTO cookies VALUES (?, 'example.com', '', 'cut short', 'v', x'', '/', 0, 0, 0, 0, 0, 0, 1, -1, 1, 80, 0, 1, 0)",
                    arguments: [number]
                )
            }
        }
        // The state after a crash: the files remain, without a process that has them open.
        let crashed = try Folder()
        for name in folder.names where name.hasPrefix("Cookies") {
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: crashed.file(name))
        }
        #expect(crashed.names == ["Cookies", "Cookies-journal"])
        let before = try Self.contents(crashed)
        let found = try await BrowserProfile.cookies(at: crashed.path)
        #expect(found.cookies.map(\.name) == ["kept"])
        #expect(try Self.contents(crashed) == before)
        try await browser.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try browser.close()
    }

    @Test("an open store file can be imported without changing it, and a newer version is refused")
    func ownFile() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        store.jar.insert(Cookie("session", "2", domain: "example.com"))
        try await store.flush()
        let before = try Self.contents(folder)
        let found = try await BrowserProfile.cookies(at: folder.file())
        #expect(Set(found.cookies) == Set(store.jar.allCookies()))
        #expect(try Self.contents(folder) == before)
        try await store.close()
        try folder.look { try $0.execute(sql: "UPDATE cookie SET path = 'x' WHERE name = x'61'") }
        #expect(try await BrowserProfile.cookies(at: folder.file()).problems.map(\.line).count == 1)
        try folder.look { try $0.execute(sql: "PRAGMA user_version = 99") }
        await #expect {
            _ = try await BrowserProfile.cookies(at: folder.file())
        } throws: { ($0 as? StoreError)?.code == .newerSchema }
    }

    @Test("a path without a profile is named in the error")
    func noProfile() async throws {
        let folder = try Folder()
        try folder.makeDatabase("other.sqlite") { try $0.execute(sql: "CREATE TABLE cookies (id INTEGER)") }
        try Data("hello, this is not a database at all".utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        let rows: [(String, StoreError.Code)] = [
            (folder.path, .unknownProfile), (folder.file("other.sqlite"), .unknownProfile),
            (folder.file("nowhere"), .notAccessible), (folder.file("text"), .damaged),
        ]
        for (path, code) in rows {
            await #expect {
                _ = try await BrowserProfile.cookies(at: path)
            } throws: { error in
                guard let error = error as? StoreError else { return false }
                return error.code == code && error.path == path && error.message.contains(path)
            }
        }
    }

    @Test(
        "the origin attributes of Firefox are read",
        arguments: [
            ("", 0, nil as String?, true), ("^userContextId=7", 7, nil, true),
            ("^partitionKey=%28https%2Cexample.com%29", 0, "https://example.com", true),
            ("^partitionKey=%28http%2Cexample.com%2C8080%2Cf%29&userContextId=1", 1, "http://example.com", true),
            ("^partitionKey=%28http%2C%5B%2B%2B1%5D%29", 0, "http://[::1]", true),
            ("^partitionKey=example.com", 0, "https://example.com", true),
            ("^privateBrowsingId=1", 0, nil, false), ("^firstPartyDomain=example.com", 0, nil, false),
        ]
    )
    func originAttributes(_ text: String, _ container: Int, _ partition: String?, _ isOrdinary: Bool) throws {
        let attributes = try #require(OriginAttributes(text))
        #expect(attributes.container == container)
        #expect(attributes.partition?.description == partition)
        #expect(attributes.isOrdinary == isOrdinary)
    }

    /// The content and modification time of each file in a folder.
    private static func contents(_ folder: Folder) throws -> [String: [String]] {
        var contents: [String: [String]] = [:]
        for name in folder.names {
            let path = folder.file(name)
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            let octets = try Data(contentsOf: URL(fileURLWithPath: path)).base64EncodedString()
            contents[name] = [octets, String(date?.timeIntervalSince1970 ?? 0)]
        }
        return contents
    }
}
