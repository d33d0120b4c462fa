// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import CookieJar
import Foundation
import GRDB
import Testing

@testable import BeelineStore

@Suite("Killed processes")
struct CrashTests {
    /// Applies one of the writer's numbered changes (`Rounds` of the writer).
    private static func apply(_ number: Int, to slots: inout [String: Int]) {
        slots["slot\(number % 64)"] = number % 7 == 0 ? nil : number
    }

    /// The content of the file, read by SQLite alone.
    private static func slots(_ folder: Folder) throws -> [String: Int] {
        guard FileManager.default.fileExists(atPath: folder.file()) else { return [:] }
        return try folder.look { db in
            try db.checkIntegrity()
            return Dictionary(
                uniqueKeysWithValues: try Row.fetchAll(db, sql: "SELECT name, value FROM cookie").map { row in
                    (
                        String(decoding: row[0] as Data, as: UTF8.self),
                        Int(String(decoding: row[1] as Data, as: UTF8.self)) ?? -1
                    )
                }
            )
        }
    }

    /// Kills a writer repeatedly at times derived from a seed, and checks the file after each kill.
    private static func torture(kills: Int, seed: UInt64) async throws -> (acknowledged: Int, unopened: Int) {
        var random = SeededRandom(seed: seed)
        let folder = try Folder()
        var known: [String: Int] = [:]
        var (acknowledged, unopened) = (0, 0)
        for kill in 0..<kills {
            let child = try ChildProcess("rounds", folder.file(), String(random.next()))
            // One in four is killed while it opens the file, the others after some lines.
            let lines = kill % 4 == 0 ? 0 : Int.random(in: 1...12, using: &random)
            let microseconds = UInt32.random(in: 0...(lines == 0 ? 40_000 : 3000), using: &random)
            let said = try await blocking {
                var said: [String] = []
                while said.count < lines, let line = child.line() { said.append(line) }
                // Not a wait for an event: the delay makes the time of the kill arbitrary.
                usleep(microseconds)
                child.kill()
                while let line = child.line() { said.append(line) }
                return said
            }
            await child.end()

            #expect(!said.contains { $0.hasPrefix("error") }, "\(said)")
            let numbers = { (word: String) in
                said.filter { $0.hasPrefix(word) }.compactMap { Int($0.dropFirst(word.count + 1)) }
            }
            let found = try slots(folder)
            guard let start = numbers("opened").first else {
                unopened += 1
                #expect(found == known, "kill \(kill): before the file was open")
                continue
            }
            acknowledged += numbers("flushed").count
            // The file holds the flushed changes and a prefix of the later ones, without gaps.
            let flushed = numbers("flushed").last ?? start
            var slots = known
            var isExplained = flushed == start && slots == found
            for number in (start + 1)..<max(start + 1, (numbers("begun").last ?? start) + 1) where !isExplained {
                apply(number, to: &slots)
                isExplained = number >= flushed && slots == found
            }
            #expect(isExplained, "kill \(kill): \(flushed) was flushed; the file has \(found)")
            known = found
        }
        return (acknowledged, unopened)
    }

    @Test("a process killed at any time loses no flushed change and leaves a valid file", arguments: [1 as UInt64, 2])
    func kills(_ seed: UInt64) async throws {
        let kills = ProcessInfo.processInfo.environment["BEELINE_ROUNDS"].flatMap(Int.init) ?? 110
        let result = try await Self.torture(kills: kills, seed: seed)
        #expect(result.acknowledged > 0)
        #expect(result.unopened > 0)
    }

    @Test("two processes share a file, and each sees the other's changes, in time and on demand")
    func twoProcesses() async throws {
        let folder = try Folder()
        let (one, two) = (try ChildProcess("serve", folder.file()), try ChildProcess("serve", folder.file()))
        for child in [one, two] { #expect(try await blocking { child.line() } == "opened") }
        #expect(try await one.ask("set a 1") == "ok")
        // Without a flush, the change is written and read in the background.
        #expect(try await two.ask("await a=1") == "ok")
        #expect(try await two.ask("remove a") == "ok")
        #expect(try await one.ask("await -") == "ok")
        #expect(try await two.ask("set b 2") == "ok")
        #expect(try await two.ask("flush") == "ok")
        #expect(try await one.ask("refresh") == "ok")
        #expect(try await one.ask("get") == "b=2")
        // After one process is killed, the other continues.
        two.kill()
        await two.end()
        #expect(try await one.ask("set c 3") == "ok")
        #expect(try await one.ask("close") == "ok")
        await one.end()
        #expect(try Self.slots(folder).keys.sorted() == ["b", "c"])
    }

    @Test("two processes that write at once lose nothing and leave a valid file")
    func writingAtOnce() async throws {
        let folder = try Folder()
        let children = try (0..<2).map { _ in try ChildProcess("serve", folder.file()) }
        for child in children { #expect(try await blocking { child.line() } == "opened") }
        async let first = children[0].ask("many x 1000")
        async let second = children[1].ask("many y 1000")
        #expect(try await [first, second] == ["ok", "ok"])
        for child in children + children { #expect(try await child.ask("flush") == "ok") }
        for child in children {
            #expect(try await child.ask("count") == "2000")
            #expect(try await child.ask("close") == "ok")
            await child.end()
        }
        #expect(try Self.slots(folder).count == 2000)
    }
}
