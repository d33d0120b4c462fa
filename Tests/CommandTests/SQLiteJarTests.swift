// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import GRDB
import Testing

extension ProcessTests {
    /// Jars in SQLite files, which several commands may have open at once, and the cookie databases of browsers.
    struct SQLiteJarTests {
        @Test func aJarIsChangedAndReadByHand() async throws {
            let lab = try await CommandLab()
            let jar = ["--jar", "jar.sqlite"]
            let url = "https://www.example.com/"
            let cookies = { (arguments: [String]) in try await lab.beeline(["cookies"] + arguments) }
            #expect(try await cookies(["list"] + jar).text == "")
            // Listing a missing jar does not create it.
            #expect(!lab.folder.has("jar.sqlite"))
            let set = try await cookies(["set"] + jar + [url, "a=1; Max-Age=1000", "session=2", "no=3; Domain=com"])
            #expect(set.text.hasPrefix("kept\nkept\nrejected: ") && set.status == 0 && set.errors == "")
            #expect(try await cookies(["header"] + jar + [url]).text == "a=1; session=2\n")
            #expect(try await cookies(["delete"] + jar + [url, "a"]).text == "deleted 1\n")
            #expect(try await cookies(["list"] + jar).text.hasPrefix("www.example.com session=2"))
            #expect(try await cookies(["clear", "--session"] + jar).text == "deleted 1\n")
            #expect(try await cookies(["list"] + jar).text == "")
            #expect(!lab.folder.has("jar.sqlite-lock") && !lab.folder.has("jar.sqlite-wal"))
            await lab.stop()
        }

        @Test func commandsThatShareAJarLoseNothing() async throws {
            let lab = try await CommandLab()
            try await withThrowingTaskGroup(of: Int32.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let url = lab.plainURL("/set-cookie?value=n\(number)%3D1")
                        return try await lab.beeline(["--jar", "jar.sqlite", "-o", "/dev/null", url]).status
                    }
                }
                for try await status in group { #expect(status == 0) }
            }
            let list = try await lab.beeline(["cookies", "list", "--jar", "jar.sqlite"])
            #expect(list.text.split(separator: "\n").count == 6, "\(list.text)")
            await lab.stop()
        }

        @Test("redirects to long URLs leave a jar readable, with the cookies of other sites")
        func redirectsToLongURLs() async throws {
            let lab = try await CommandLab { request in
                let authority = request.authority ?? ""
                let number = Int(authority.dropFirst().prefix { $0.isNumber }) ?? 0
                let port = authority.split(separator: ":").last ?? ""
                let path = "/" + String(repeating: "x", count: 59_000) + "/"
                var reply = Reply.text("end\n")
                if number < 13 { reply = .redirect(to: "http://h\(number + 1).evil.example:\(port)\(path)") }
                for cookie in 0..<180 { reply = reply.adding(.setCookie, "c\(cookie)=1") }
                return reply
            }
            let jar = ["--jar", "jar.sqlite"]
            let login = ["cookies", "set"] + jar + ["https://www.example.com/", "login=1; Max-Age=1000"]
            #expect(try await lab.beeline(login).status == 0)
            let names = ["--resolve", "*:\(lab.plain.port):127.0.0.1"]
            let run = try await lab.beeline(["-L"] + jar + names + ["http://h0.evil.example:\(lab.plain.port)/"])
            #expect(run.status == 0 && run.text == "end\n", "\(run.errors)")
            #expect(lab.plain.requests.count == 14)
            let header = try await lab.beeline(["cookies", "header"] + jar + ["https://www.example.com/"])
            #expect(header.status == 0 && header.text == "login=1\n", "\(header.errors)")
            await lab.stop()
        }

        @Test func aDamagedJarIsSetAsideWithAWord() async throws {
            let lab = try await CommandLab()
            let url = lab.plainURL("/set-cookie?value=a%3Db")
            #expect(try await lab.beeline(["--jar", "jar.sqlite", "-o", "/dev/null", url]).status == 0)
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(lab.folder.path)/jar.sqlite"))
            try file.write(contentsOf: Data(count: 16))
            try file.close()
            // A command that only reads reports the damage and leaves the file unchanged.
            let list = try await lab.beeline(["cookies", "list", "--jar", "jar.sqlite"])
            #expect(list.status == 26 && list.errors.contains("jar.sqlite is not a database, or is damaged"))
            let run = try await lab.beeline(["--jar", "jar.sqlite", "-o", "/dev/null", url])
            #expect(run.status == 0)
            #expect(run.errors.contains("jar.sqlite is damaged (it is not a database); it is kept as "))
            #expect(try await lab.beeline(["--jar", "jar.sqlite", "-o", "/dev/null", url]).errors == "")
            let kept = try FileManager.default.contentsOfDirectory(atPath: lab.folder.path)
                .filter { $0.hasPrefix("jar.sqlite.damaged-") }
            #expect(kept.count == 1)
            await lab.stop()
        }

        @Test func whatIsNotAJarIsLeftAlone() async throws {
            let lab = try await CommandLab()
            try Self.firefox(lab.folder, "cookies.sqlite")
            let before = try lab.folder.data("cookies.sqlite")
            let foreign = try await lab.beeline(["--jar", "cookies.sqlite", lab.plainURL("/status/200")])
            #expect(foreign.status == 26 && foreign.errors.contains("another program's database"))
            try lab.folder.write(before, to: "cookies.txt")
            let text = try await lab.beeline(["--jar", "cookies.txt", lab.plainURL("/status/200")])
            #expect(text.status == 64 && text.errors.contains("SQLite"))
            #expect(try lab.folder.data("cookies.sqlite") == before)
            #expect(try lab.folder.data("cookies.txt") == before)
            let nowhere = try await lab.beeline(["--jar", "no/where.sqlite", lab.plainURL("/status/200")])
            #expect(nowhere.status == 23 && nowhere.errors.contains("no/where.sqlite"))
            #expect(lab.plain.requests.isEmpty)
            await lab.stop()
        }

        // MARK: Browsers

        /// The cookie database of Firefox, in the format since version 142.
        @discardableResult
        private static func firefox(_ folder: Folder, _ name: String) throws -> String {
            let queue = try DatabaseQueue(path: "\(folder.path)/\(name)")
            try queue.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, originAttributes TEXT NOT NULL DEFAULT '',
                            name TEXT, value TEXT, host TEXT, path TEXT, expiry INTEGER, lastAccessed INTEGER,
                            creationTime INTEGER, isSecure INTEGER, isHttpOnly INTEGER, sameSite INTEGER);
                        PRAGMA user_version = 17;
                        INSERT INTO moz_cookies VALUES
                            (1, '', 'fox', '1', '127.0.0.1', '/', 9999999999000, 1, 1, 0, 1, 256),
                            (2, '', 'broken', '1', NULL, '/', 9999999999000, 1, 2, 0, 0, 256),
                            (3, '', 'all', '1', '.com', '/', 9999999999000, 1, 3, 0, 0, 256),
                            (4, '^userContextId=2', 'work', '1', '127.0.0.1', '/', 9999999999000, 1, 4, 0, 0, 256);
                        """
                )
            }
            try queue.close()
            return "\(folder.path)/\(name)"
        }

        /// The cookie database of Chromium with one plain cookie and one encrypted cookie.
        private static func chromium(_ folder: Folder) throws {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/chromium/Default/Network",
                withIntermediateDirectories: true
            )
            let queue = try DatabaseQueue(path: "\(folder.path)/chromium/Default/Network/Cookies")
            try queue.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE cookies (creation_utc INTEGER, host_key TEXT, top_frame_site_key TEXT, name TEXT,
                            value TEXT, encrypted_value BLOB, path TEXT, expires_utc INTEGER, is_secure INTEGER,
                            is_httponly INTEGER, last_access_utc INTEGER, has_expires INTEGER, samesite INTEGER);
                        INSERT INTO cookies VALUES
                            (13416840000000001, '127.0.0.1', '', 'chrome', '2', x'', '/', 0, 0, 0, 0, 0, -1),
                            (13416840000000002, '127.0.0.1', '', 'secret', '', x'7631', '/', 0, 0, 0, 0, 0, -1);
                        """
                )
            }
            try queue.close()
        }

        @Test(arguments: ["jar.sqlite", "jar.txt", "jar.json"])
        func cookiesOfBrowsersComeIntoAnyJar(_ jar: String) async throws {
            let lab = try await CommandLab()
            try FileManager.default.createDirectory(
                atPath: "\(lab.folder.path)/firefox",
                withIntermediateDirectories: true
            )
            try Self.firefox(lab.folder, "firefox/cookies.sqlite")
            try Self.chromium(lab.folder)
            // Given as the folder, as the file, and under a name of no known format.
            let before = try lab.folder.data("firefox/cookies.sqlite")
            try lab.folder.write(before, to: "copied")
            let line = ["cookies", "import", "--jar", jar, "firefox", "chromium", "copied"]
            let run = try await lab.beeline(line)
            #expect(run.text == "imported 3, skipped 5\n" && run.status == 0)
            let problems = run.errors.split(separator: "\n").map(String.init)
            #expect(problems.count == 5)
            #expect(problems.contains("firefox: row 2: a column is missing or of another type"))
            #expect(problems.contains { $0.hasPrefix("firefox: row 3: the Domain attribute is a public suffix") })
            #expect(problems.contains { $0.hasPrefix("chromium: row 2: its value is encrypted") })
            #expect(try lab.folder.data("firefox/cookies.sqlite") == before)

            _ = try await lab.beeline(["--jar", jar, lab.plainURL("/status/200")])
            #expect(lab.plain.requests.first?.cookies == ["fox": "1", "chrome": "2"])
            let work = try await lab.beeline(["cookies", "import", "--jar", jar, "--container", "2", "firefox"])
            #expect(work.text == "imported 1, skipped 0\n")
            await lab.stop()
        }

        @Test func aJarIsImportedIntoAnotherAndReadForOneRun() async throws {
            let lab = try await CommandLab()
            let set = ["cookies", "set", "--jar", "one.sqlite", lab.plainURL(), "a=1"]
            #expect(try await lab.beeline(set).status == 0)
            let both = try await lab.beeline(["cookies", "import", "--jar", "one.sqlite", "one.sqlite"])
            #expect(both.text == "imported 1, skipped 0\n")
            let other = try await lab.beeline(["cookies", "import", "--jar", "two.json", "one.sqlite"])
            #expect(other.text == "imported 1, skipped 0\n")
            #expect(try lab.folder.text("two.json").contains("\"a\""))
            let before = try lab.folder.data("one.sqlite")
            _ = try await lab.beeline(["-b", "one.sqlite", lab.plainURL("/set-cookie?value=b%3D2")])
            #expect(lab.plain.requests.first?.cookies == ["a": "1"])
            #expect(try lab.folder.data("one.sqlite") == before)
            let missing = try await lab.beeline(["cookies", "import", "--jar", "two.json", "nowhere"])
            #expect(missing.status == 26 && missing.errors.contains("nowhere"))
            await lab.stop()
        }
    }
}
