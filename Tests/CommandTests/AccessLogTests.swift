// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Names
import Testing

@testable import BeelineCommand
@testable import BeelineServer

struct AccessLogTests {
    static func record(names: String = "a.test") -> AccessRecord {
        AccessRecord(
            client: IPAddress(v4: 1),
            form: .doh,
            account: nil,
            names: names,
            types: "A",
            status: 200,
            outcome: "NOERROR",
            source: "zone",
            octets: 1,
            time: .zero
        )
    }

    @Test func whatWaitsIsBoundedInOctetsAndWhatWasDroppedIsCounted() async throws {
        let folder = NSTemporaryDirectory() + "/beeline-log-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let queue = DispatchQueue(label: "log", attributes: .initiallyInactive)
        let log = try #require(try AccessLog("\(folder)/log", queue: queue))
        let record = Self.record(names: String(repeating: "n", count: 100_000))
        // Nothing is written before the queue runs.
        for _ in 0..<100 { log.add(record) }
        queue.activate()
        await log.finish(within: .seconds(60))
        let text = try String(contentsOfFile: "\(folder)/log", encoding: .utf8)
        #expect(text.utf8.count <= AccessLog.capacity + 100)
        let lines = text.split(separator: "\n")
        #expect(lines.last?.hasSuffix(" \(100 - (lines.count - 1)) lines were dropped") == true)
        #expect(lines.count > 10)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func linesThatAFullDiskDidNotTakeAreCounted() async throws {
        let folder = try Folder()
        let path = "\(folder.path)/log"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        let log = try #require(try AccessLog(path))
        for _ in 0..<3 { log.add(Self.record()) }
        await log.finish(within: .seconds(60))
        // From now on the log is a file that has room.
        try FileManager.default.removeItem(atPath: path)
        try log.reopen()
        log.add(Self.record(names: "b.test"))
        await log.finish(within: .seconds(60))
        let lines = try folder.text("log").split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.contains(" b.test ") == true, "\(lines)")
        #expect(lines.last?.hasSuffix(" 3 lines were dropped") == true, "\(lines)")
    }

    @Test(arguments: [
        ("1\t200\u{301}\tNOERROR", "1_200\u{301}_NOERROR"), ("1 \u{301}x", "1_\u{301}x"), ("", "-"), ("\t \n", "-"),
        ("1\u{2003}x\u{2028}y", "1_x_y"),
    ])
    func anAccountIsOneColumnWhateverItsCharacters(_ account: String, _ column: String) throws {
        var record = Self.record()
        record.account = account
        let line = AccessLogFormat.text.line(record)
        let columns = try #require(line.split(separator: "] ").last)
        #expect(columns == "0.0.0.1 doh \(column) a.test A 200 NOERROR zone 1 0\n", "\(line)")
        // As octets, because a mark after a space is a part of its character.
        #expect(columns.utf8.count { $0 == UInt8(ascii: " ") } == 9)
    }

    @Test func aLineInJSONHasTheSameMembersAlways() throws {
        var record = Self.record(names: "a.test,\u{1f}b\"\\.test")
        record.types = "A,AAAA"
        let line = AccessLogFormat.json.line(record)
        #expect(line.hasSuffix("}\n") && line.count { $0.isNewline } == 1)
        let view = try ReportView(line)
        let members = [
            "account", "client", "form", "microseconds", "names", "octets", "outcome", "source", "status", "time",
            "types",
        ]
        #expect(view.keys == members)
        #expect(view["names"].texts == ["a.test", "\u{1f}b\"\\.test"] && view["types"].texts == ["A", "AAAA"])
        #expect(view["account"].isNull && view["status"].number == 200 && view["client"].text == "0.0.0.1")
        #expect(view["time"].text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
        (record.account, record.status, record.source, record.names) = ("7", 0, "-", "")
        let other = try ReportView(AccessLogFormat.json.line(record))
        #expect(other.keys == members && other["names"].count == 0)
        #expect(other["account"].text == "7" && other["status"].isNull && other["source"].isNull)
        #expect(try ReportView(AccessLogFormat.json.line(dropped: 3))["dropped"].number == 3)
    }

    @Test(.timeLimit(.minutes(1)))
    func aReaderThatStandsStillKeepsNoServerFromEnding() async throws {
        let folder = try Folder()
        let path = "\(folder.path)/log"
        try #require(mkfifo(path, 0o600) == 0)
        // The command ignores SIGPIPE, too.
        signal(SIGPIPE, SIG_IGN)
        // Opening a pipe without a reader fails instead of waiting.
        let failure = #expect(throws: CommandFailure.self) { try AccessLog(path) }
        #expect(failure?.message.contains("no reader") == true)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let log = try #require(try AccessLog(path))
        for _ in 0..<20 { log.add(Self.record(names: String(repeating: "n", count: 10_000))) }
        await log.finish(within: .milliseconds(10))
        // The log still accepts lines.
        log.add(Self.record())
    }

    @Test(.timeLimit(.minutes(1)))
    func linesThatWereWrittenBeforeAFailureAreNotCountedAsDropped() async throws {
        let folder = try Folder()
        let path = "\(folder.path)/log"
        try #require(mkfifo(path, 0o600) == 0)
        signal(SIGPIPE, SIG_IGN)
        let reader = FileDescriptor(open(path, O_RDONLY | O_NONBLOCK))
        let queue = DispatchQueue(label: "log", attributes: .initiallyInactive)
        let log = try #require(try AccessLog(path, queue: queue))
        // One write of more than a pipe holds.
        for _ in 0..<100 { log.add(Self.record(names: String(repeating: "n", count: 10_000))) }
        queue.activate()
        var count = 0
        while count < 60_000 { count += try reader.read(atMost: 4_096).count }
        try reader.close()
        await log.finish(within: .seconds(60))
        try FileManager.default.removeItem(atPath: path)
        try log.reopen()
        log.add(Self.record(names: "b.test"))
        await log.finish(within: .seconds(60))
        let lines = try folder.text("log").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines.first?.contains(" b.test ") == true, "\(lines)")
        let dropped = lines.dropFirst().first?.split(separator: " ").compactMap { Int($0) }.last
        #expect(dropped.map { $0 <= 95 && $0 > 0 } == true, "\(lines)")
    }
}
