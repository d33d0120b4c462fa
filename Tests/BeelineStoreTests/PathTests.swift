// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import Testing

@testable import BeelineStore

/// The location of a file, and links on the way to it.
@Suite("Store paths")
struct PathTests {
    /// The path of a file relative to the working directory.
    private static func relative(_ path: String) -> String {
        let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
        return String(repeating: "../", count: depth) + path.dropFirst()
    }

    @Test("a store opened with a relative path does not depend on later changes of the working directory")
    func relativePath() async throws {
        let folder = try Folder()
        let store = try await CookieDatabase.open(
            Self.relative(folder.file()),
            configuration: .onDemand,
            clock: { noon }
        )
        #expect(store.path.hasPrefix("/") && store.path.hasSuffix("/jar.sqlite") && !store.path.contains("/../"))
        store.jar.put("a", "1")
        try await store.close()
        #expect(folder.names == ["jar.sqlite"])
    }

    @Test("an answer store with a relative path does not depend on later changes of the working directory")
    func relativeAnswers() async throws {
        let folder = try Folder()
        let answers = AnswerDatabase(path: Self.relative(folder.file("answers.sqlite")))
        #expect(answers.place.hasPrefix("/"))
        try await answers.save([])
        #expect(folder.names == ["answers.sqlite"])
    }

    @Test("a link to a file that does not exist yet is followed and kept", arguments: [true, false])
    func danglingLink(_ isRelative: Bool) async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.file("elsewhere"), withIntermediateDirectories: true)
        let target = isRelative ? "elsewhere/real.sqlite" : folder.file("elsewhere/real.sqlite")
        // A link to a link.
        try FileManager.default.createSymbolicLink(atPath: folder.file("inner"), withDestinationPath: target)
        try FileManager.default.createSymbolicLink(atPath: folder.file(), withDestinationPath: "inner")
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.close()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file()) == "inner")
        #expect(folder.names == ["elsewhere", "inner", "jar.sqlite"])
        #expect(folder.mode("elsewhere/real.sqlite") == 0o600)
        let again = try await CookieDatabase.open(folder)
        #expect(try again.header == "a=1")
        try await again.close()
    }

    @Test("a loop of links is an error")
    func circle() async throws {
        let folder = try Folder()
        try FileManager.default.createSymbolicLink(atPath: folder.file(), withDestinationPath: "jar.sqlite")
        await #expect {
            _ = try await CookieDatabase.open(folder)
        } throws: { ($0 as? StoreError)?.code == .notAccessible }
    }

    @Test(
        "a planted link at the path of a new file's draft is not followed",
        arguments: ["-new", "-new-wal"]
    )
    func plantedDraft(_ suffix: String) async throws {
        let folder = try Folder()
        let victim = Data("not a database".utf8)
        try victim.write(to: URL(fileURLWithPath: folder.file("victim")))
        let planted = folder.file("jar.sqlite" + suffix)
        try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: folder.file("victim"))
        let store = try await CookieDatabase.open(folder)
        store.jar.put("a", "1")
        try await store.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("victim"))) == victim)
        #expect(folder.names == ["jar.sqlite", "victim"])
    }

    @Test("a planted link at the path of the lock file is an error and is not followed")
    func plantedLock() async throws {
        let folder = try Folder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("jar.sqlite-lock"),
            withDestinationPath: folder.file("victim")
        )
        await #expect {
            _ = try await CookieDatabase.open(folder)
        } throws: { ($0 as? StoreError)?.code == .notAccessible }
        #expect(folder.names == ["jar.sqlite-lock"])
    }

    @Test("the copy of a killed process is removed by the next import, and a copy in use is kept")
    func abandonedCopies() throws {
        let folder = try Folder()
        let copy = try #require(CopyFolder(in: folder.path))
        let used = try #require(folder.names.first)
        try FileManager.default.createDirectory(
            atPath: folder.file("beeline-copy-killed"),
            withIntermediateDirectories: true
        )
        try FileManager.default.createDirectory(
            atPath: folder.file("beeline-copy-longer-name"),
            withIntermediateDirectories: true
        )
        for name in ["copy.sqlite", "copy.sqlite-wal"] {
            try Data("cookies".utf8).write(to: URL(fileURLWithPath: folder.file("beeline-copy-killed/\(name)")))
        }
        let next = try #require(CopyFolder(in: folder.path))
        #expect(
            folder.names.count == 3 && folder.names.contains(used) && folder.names.contains("beeline-copy-longer-name")
        )
        next.remove()
        copy.remove()
        #expect(folder.names == ["beeline-copy-longer-name"])
    }

    @Test("a copy left by an earlier version is removed when it is a day old")
    func oldCopies() throws {
        let folder = try Folder()
        let copies = [
            ("beeline-killed", "copy.sqlite", 90_000), ("beeline-in-use", "copy.sqlite", 0),
            ("beeline-others", "mail", 90_000),
        ]
        for (name, file, age) in copies {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
            let path = folder.file("\(name)/\(file)")
            try Data("cookies".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -TimeInterval(age))],
                ofItemAtPath: path
            )
        }
        try #require(CopyFolder(in: folder.path)).remove()
        #expect(folder.names == ["beeline-in-use", "beeline-others"])
    }
}
