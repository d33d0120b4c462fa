// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Dispatch
import Glibc
import Testing

@testable import BeelineCommand

/// The access log on a disk without room. Each test runs in a process of its own, because it changes the process's limit
/// of the size of files.
@Suite("An access log whose disk is full", .timeLimit(.minutes(2)))
struct CutLogTests {
    @Test("a line that is cut is completed when there is room again, because half a line is not JSON")
    func cutLine() async throws {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            let log = try #require(try AccessLog("\(folder.path)/log", format: .json))
            let record = AccessLogTests.record()
            // The octets of four lines and a half.
            let room = AccessLogFormat.json.line(record).utf8.count * 9 / 2
            signal(SIGXFSZ, SIG_IGN)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            var limit = rlimit()
            getrlimit(resource, &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = rlim_t(room)
            setrlimit(resource, &limit)
            for _ in 0..<10 { log.add(record) }
            await log.finish(within: .seconds(60))
            try #require(try folder.text("log").utf8.count == room)
            limit.rlim_cur = before
            setrlimit(resource, &limit)
            log.add(record)
            await log.finish(within: .seconds(60))
            let lines = try folder.text("log").split(separator: "\n").map { try ReportView(String($0)) }
            try #require(lines.count == 7 && lines.filter { $0["names"].texts == ["a.test"] }.count == 6)
            try #require(lines.last?["dropped"].number == 5)
        }
    }
}
#endif
