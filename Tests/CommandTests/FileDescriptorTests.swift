// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import BeelineCommand

/// Reading and writing files, links, pipes and non-blocking descriptors.
struct FileDescriptorTests {
    private func pipe() throws -> (reader: FileDescriptor, writer: FileDescriptor) {
        var numbers: [CInt] = [-1, -1]
        try #require(Foundation.pipe(&numbers) == 0)
        return (FileDescriptor(numbers[0]), FileDescriptor(numbers[1]))
    }

    @Test("reads and writes wait for a non-blocking pipe", .timeLimit(.minutes(1)))
    func nonBlockingInputIsWaitedFor() async throws {
        let (reader, writer) = try pipe()
        defer { try? reader.close() }
        try #require(fcntl(reader.number, F_SETFL, O_NONBLOCK) == 0)
        // Nothing is there when the reader begins, or the writer was quicker in every round.
        let writing = Task.detached {
            for round in 0..<2_000 {
                try writer.write([UInt8(round & 0xff)])
                await Task.yield()
            }
            try writer.close()
        }
        let bytes = try reader.readToEnd()
        try await writing.value
        #expect(bytes.count == 2_000)
    }

    @Test("a device without an end is an error and does not fill the memory", .timeLimit(.minutes(1)))
    func endlessDevice() throws {
        let device = try FileDescriptor.open(reading: "/dev/zero")
        defer { try? device.close() }
        let failure = #expect(throws: FileDescriptor.Failure.self) { try device.readToEnd(streamLimit: 1 << 20) }
        #expect(failure?.code == EFBIG)
        // Regular files have no limit but memory.
        let folder = try Folder()
        try folder.write("more than four", to: "file")
        let file = try FileDescriptor.open(reading: "\(folder.path)/file")
        defer { try? file.close() }
        #expect(try file.readToEnd(streamLimit: 4).count == 14)
    }

    @Test("two descriptors of one file, such as for -D and -o, do not overwrite each other")
    func twoDescriptors() throws {
        let folder = try Folder()
        let path = "\(folder.path)/all"
        try folder.write("old", to: "all")
        let heads = try FileDescriptor.open(path, .truncate)
        let body = try FileDescriptor.open(path, .truncate)
        for (file, text) in [(heads, "head "), (body, "body "), (heads, "head")] { try file.write(Array(text.utf8)) }
        try heads.close()
        try body.close()
        #expect(try folder.text("all") == "head body head")
    }

    @Test("a file that is truncated and written again has no gap, however it was opened")
    func noGapAfterTruncation() throws {
        let folder = try Folder()
        for mode in [FileDescriptor.Mode.new, .truncate, .append] {
            let file = try FileDescriptor.open("\(folder.path)/\(mode)", mode)
            try file.write(Array("first".utf8))
            try file.truncate(to: 0)
            try file.write(Array("2nd".utf8))
            try file.close()
            #expect(try folder.text("\(mode)") == "2nd")
        }
    }

    @Test("a file to append to keeps its name, even if the server sends another name")
    func appendedFileKeepsItsName() {
        var rules = OutputSink.Rules()
        rules.usesHeaderName = true
        var sink = OutputSink(.remoteFile("mine"), rules: rules, offset: 4)
        sink.take(disposition: "attachment; filename=yours", location: nil)
        #expect(sink.path == "mine")
    }

    @Test("a reader that stands still does not delay the end of the command", .timeLimit(.minutes(1)))
    func linesWithoutReader() async throws {
        // The command ignores SIGPIPE, too.
        signal(SIGPIPE, SIG_IGN)
        let (reader, writer) = try pipe()
        let lines = TerminalLines(Terminal(descriptor: writer.number, isTerminal: false, environment: [:]))
        for _ in 0..<2_000 { lines.add(String(repeating: "l", count: 1_000)) }
        await lines.finish(within: .milliseconds(10))
        // The reader receives the lines that were queued and nothing else.
        var count = 0
        while count < 100_000 { count += try reader.read(atMost: 65_536).count { $0 == 0x6c } }
        #expect(count >= 100_000)
        try reader.close()
    }

    @Test("saving a jar does not follow a link that was planted at the draft's path")
    func plantedLink() throws {
        let folder = try Folder()
        try folder.write("kept", to: "victim")
        try folder.write("old", to: "jar.txt")
        let draft = "\(folder.path)/jar.txt.draft"
        try FileManager.default.createSymbolicLink(atPath: draft, withDestinationPath: "\(folder.path)/victim")
        let failure = #expect(throws: FileDescriptor.Failure.self) {
            try JarFile.replace("\(folder.path)/jar.txt", by: Array("new".utf8), suffix: ".draft")
        }
        #expect(failure?.code == EEXIST)
        #expect(try folder.text("victim") == "kept" && folder.text("jar.txt") == "old")
        // A dangling link is not followed either.
        try FileManager.default.removeItem(atPath: "\(folder.path)/victim")
        #expect(throws: FileDescriptor.Failure.self) {
            try JarFile.replace("\(folder.path)/jar.txt", by: Array("new".utf8), suffix: ".draft")
        }
        #expect(!folder.has("victim"))
    }

    @Test("saving a jar through a dangling link creates the link's target and keeps the link")
    func danglingLink() throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: "\(folder.path)/real", withIntermediateDirectories: true)
        let (link, second) = ("\(folder.path)/jar.txt", "\(folder.path)/second.txt")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "second.txt")
        try FileManager.default.createSymbolicLink(atPath: second, withDestinationPath: "real/jar.txt")
        try JarFile.replace(link, by: Array("new".utf8))
        #expect(try folder.text("real/jar.txt") == "new")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "second.txt")
        // A cycle of links is an error.
        try FileManager.default.removeItem(atPath: second)
        try FileManager.default.createSymbolicLink(atPath: second, withDestinationPath: "jar.txt")
        #expect(throws: FileDescriptor.Failure.self) { try JarFile.replace(link, by: []) }
    }

    @Test("a file whose draft cannot be created is written in place")
    func noRoomForADraft() throws {
        let folder = try Folder()
        // The draft's name would be longer than file names may be.
        let name = String(repeating: "j", count: 251) + ".txt"
        for text in ["first", "2nd"] {
            try JarFile.replace("\(folder.path)/\(name)", by: Array(text.utf8))
            #expect(try folder.text(name) == text)
        }
    }

    @Test(
        "an unreadable configuration file is an error, not a missing file",
        .enabled(if: CommandRun.canRunUnprivileged, "setpriv is not installed"),
        arguments: [
            ("beeline/config.json", "config.json cannot be read"), ("beeline", "you may not search its folder"),
        ]
    )
    func unreadableFile(_ forbidden: String, _ says: String) async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: "\(folder.path)/beeline", withIntermediateDirectories: true)
        let path = try folder.write("{\"proxy\": \"http://127.0.0.1:1\"}", to: "beeline/config.json")
        #expect(FileDescriptor.size(of: path) == 31)
        #expect(FileDescriptor.size(of: folder.path) == nil && FileDescriptor.size(of: "/dev/null") == nil)
        #expect(FileDescriptor.size(of: "\(folder.path)/none") == nil)
        try #require(chmod("\(folder.path)/\(forbidden)", 0) == 0 && chmod(folder.path, 0o777) == 0)
        defer { chmod("\(folder.path)/\(forbidden)", 0o700) }
        let run = try await CommandRun.run(
            CommandRun.unprivileged[0],
            CommandRun.unprivileged.dropFirst() + [CommandRun.beeline, "http://127.0.0.1:1/"],
            in: folder,
            environment: ["XDG_CONFIG_HOME": folder.path]
        )
        #expect(run.status == 26 && run.errors.contains(says), "\(run.status) \(run.errors)")
    }

    @Test(
        "a user with root's HOME, as by setpriv, can use the command",
        .enabled(
            if: geteuid() == 0 && CommandRun.canRunUnprivileged,
            "the user is not root, or setpriv is not installed"
        ),
        // The owner of a folder below a closed one is not known.
        arguments: ["home", "home/below"]
    )
    func homeOfAnotherUser(_ home: String) async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: "\(folder.path)/\(home)", withIntermediateDirectories: true)
        try #require(chmod("\(folder.path)/home", 0o700) == 0 && chmod(folder.path, 0o777) == 0)
        let run = try await CommandRun.run(
            CommandRun.unprivileged[0],
            CommandRun.unprivileged.dropFirst() + [CommandRun.beeline, "http://127.0.0.1:1/"],
            in: folder,
            environment: ["HOME": "\(folder.path)/\(home)"]
        )
        #expect(run.status == 7, "\(run.status) \(run.errors)")
    }
}
