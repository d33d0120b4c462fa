// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Killed processes with a shared jar",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(60))
)
struct JarEnduranceTests {
    private static func server(_ arguments: String..., port: UInt16? = nil) throws -> RedisServer {
        try RedisServer(try #require(RedisServer.programs.first), port: port, arguments: arguments)
    }

    private static func close(_ jars: RedisJar...) async {
        for jar in jars { try? await jar.close(within: .seconds(10)) }
    }

    /// A number of the environment, for longer runs by hand.
    private static func number(_ name: String, _ ordinary: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? ordinary
    }

    /// By hand: `BEELINE_JAR_PROCESSES=8 BEELINE_JAR_CHANGES=100000 BEELINE_JAR_KILLS=40 swift test --filter JarEnduranceTests/killed`.
    @Test("processes and a server that are killed at any time lose no change that was written, and resurrect no cookie")
    func killed() async throws {
        let folder = NSTemporaryDirectory() + "/beeline-jar-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try freePorts(1)[0]
        func start() throws -> RedisServer { try Self.server("--appendonly", "yes", "--dir", folder, port: port) }
        let first = try start()
        let observer = try await first.jar("torture")
        let (last, kills) = (Self.number("BEELINE_JAR_CHANGES", 2_000), Self.number("BEELINE_JAR_KILLS", 4))
        let processes = Self.number("BEELINE_JAR_PROCESSES", 3)
        let server = try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<processes {
                group.addTask {
                    try await WriterProcess.run(id: id, port: port, jar: "torture", last: last, kills: kills)
                }
            }
            var server = first
            for kill in 1...max(kills / 2, 1) {
                // At a point of the work rather than of time, so that the kill is in the middle of it.
                let wanted = last * kill / (kills + 1)
                try await withTimeLimit(.seconds(3_000), for: { "change \(wanted)" }) {
                    while !WriterProcess.slots(0, in: observer.jar).values.contains(where: { Int($0) ?? 0 >= wanted }) {
                        try await Task.sleep(for: .milliseconds(1))
                    }
                }
                server.stop()
                server = try start()
            }
            try await group.waitForAll()
            return server
        }
        let later = try await server.jar("torture")
        for jar in [observer, later] { try await jar.synchronize(within: .seconds(60)) }
        for id in 0..<processes {
            for jar in [observer, later] {
                #expect(WriterProcess.slots(id, in: jar.jar) == WriterProcess.expected(last: last), "process \(id)")
            }
        }
        #expect(observer.pairs == later.pairs)
        await Self.close(observer, later)
        server.stop()
    }

    /// By hand, on a machine with nothing else to do: the times depend on it.
    @Test(
        "a change reaches another process within 50 ms at the 99th percentile",
        .enabled(if: ProcessInfo.processInfo.environment["BEELINE_MEASURE"] != nil)
    )
    func latency() async throws {
        let server = try Self.server()
        let (one, two) = (try await server.jar(), try await server.jar())
        var times: [Duration] = []
        for number in 0..<1_000 {
            let begin = ContinuousClock.now
            one.set("a", "\(number)")
            while two.pairs != ["a=\(number)"] { await Task.yield() }
            times.append(begin.duration(to: .now))
        }
        times.sort()
        print(
            "a change reaches the other jar in \(times[500]) at the median, \(times[990]) at the 99th percentile, \(times[999]) at most"
        )
        #expect(times[990] < .milliseconds(50))
        let url = try HTTPURL("https://shop.test/")
        let local = CookieJar()
        local.insert(one.jar.allCookies())
        for (name, jar) in [("local", local), ("shared", one.jar), ("local", local), ("shared", one.jar)] {
            let begin = ContinuousClock.now
            for _ in 0..<200_000 { _ = jar.header(for: url) }
            print("\(name): \(begin.duration(to: .now) / 200_000) a lookup")
        }
        await Self.close(one, two)
        server.stop()
    }
}
#endif
