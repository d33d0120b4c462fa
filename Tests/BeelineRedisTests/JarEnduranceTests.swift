// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import Names
import Testing

@testable import BeelineRedis

/// Longer runs by hand: `BEELINE_JAR_PROCESSES=8 BEELINE_JAR_CHANGES=100000 BEELINE_JAR_KILLS=40 swift test --filter
/// JarEnduranceTests`.
@Suite(
    "Killed processes with a shared jar",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(60))
)
struct JarEnduranceTests {
    /// A server that is killed and started again, and keeps its data.
    private final class DurableServer {
        let port: UInt16
        private(set) var running: RedisServer
        private let folder = NSTemporaryDirectory() + "/beeline-jar-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            port = try freePorts(1)[0]
            running = try Self.start(in: folder, port: port)
        }

        private static func start(in folder: String, port: UInt16) throws -> RedisServer {
            let program = try #require(RedisServer.programs.first)
            return try RedisServer(program, port: port, arguments: ["--appendonly", "yes", "--dir", folder])
        }

        func restart() throws {
            running.stop()
            running = try Self.start(in: folder, port: port)
        }

        func stop() {
            running.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    private static func close(_ jars: RedisJar...) async {
        for jar in jars { try? await jar.close(within: .seconds(10)) }
    }

    /// A number of the environment, for longer runs by hand.
    private static func number(_ name: String, _ ordinary: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? ordinary
    }

    /// Lets processes change a jar, which are killed at arbitrary times, and calls `disturb` at points of their work.
    private static func torture(
        _ url: @Sendable (_ process: Int) -> String,
        observer: RedisJar,
        disturb: (_ count: Int) async throws -> Void,
        later: () async throws -> RedisJar
    ) async throws {
        let (last, kills) = (number("BEELINE_JAR_CHANGES", 2_000), number("BEELINE_JAR_KILLS", 4))
        let processes = number("BEELINE_JAR_PROCESSES", 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 0..<processes {
                let url = url(id)
                group.addTask { try await WriterProcess.run(id: id, url: url, last: last, kills: kills) }
            }
            for count in 1...max(kills / 2, 1) {
                // At a point of the work rather than of time, so that the kill is in the middle of it.
                let wanted = last * count / (kills + 1)
                try await eventually("change \(wanted)", within: .seconds(3_000)) {
                    WriterProcess.slots(0, in: observer.jar).values.contains { (Int($0) ?? 0) >= wanted }
                }
                try await disturb(count)
            }
            try await group.waitForAll()
        }
        let later = try await later()
        for jar in [observer, later] { try await jar.synchronize(within: .seconds(60)) }
        for id in 0..<processes {
            for jar in [observer, later] {
                #expect(WriterProcess.slots(id, in: jar.jar) == WriterProcess.expected(last: last), "process \(id)")
            }
        }
        #expect(observer.pairs == later.pairs)
        await close(observer, later)
    }

    @Test("killed processes, a killed server and partitions lose no change that was written, and resurrect no cookie")
    func killed() async throws {
        let server = try DurableServer()
        // Every second process is behind a relay that swallows octets for a while.
        let relay = try await Relay.start(to: server.port)
        let ports = [server.port, relay.port]
        try await Self.torture(
            { "redis://127.0.0.1:\(ports[$0 % 2])/torture" },
            observer: try await server.running.jar("torture"),
            disturb: { count in
                if count % 2 == 0 {
                    relay.drop(true)
                    // Not a wait for an event: the length of the partition, longer than the time limit of a reply if run by hand.
                    try await Task.sleep(for: .milliseconds(Self.number("BEELINE_JAR_PARTITION_MS", 300)))
                    relay.drop(false)
                    await relay.cut()
                } else {
                    try server.restart()
                }
            },
            later: { try await server.running.jar("torture") }
        )
        await relay.stop()
        server.stop()
    }

    @Test("killed processes and fail-overs lose no change that was written, and resurrect no cookie")
    func failOver() async throws {
        let pair = try await RedisPair(try #require(RedisServer.programs.first))
        let url = pair.url(ofJar: "torture")
        func jar() async throws -> RedisJar {
            var configuration = try RedisJarConfiguration(url: url)
            configuration.redis.timeout = .seconds(10)
            configuration.redis.retryDelay = .milliseconds(5)...Duration.milliseconds(50)
            let jar = try RedisJar(configuration)
            try await jar.synchronize(within: .seconds(30))
            return jar
        }
        try await Self.torture(
            { _ in url },
            observer: try await jar(),
            disturb: { count in if count % 2 == 1 { try await pair.failOver() } },
            later: jar
        )
        await pair.stop()
    }

    @Test("only a process that is killed in the middle of a login, or loses its lease, leaves that login to another")
    func logins() async throws {
        let server = try DurableServer()
        let origin = try await LoginOrigin()
        let (last, kills) = (Self.number("BEELINE_JAR_LOGINS", 12), Self.number("BEELINE_JAR_KILLS", 4) / 2)
        let processes = Self.number("BEELINE_JAR_PROCESSES", 3)
        let reports = try await withThrowingTaskGroup(of: WriterProcess.Report.self) { group in
            for id in 0..<processes {
                group.addTask { [port = server.port, originPort = origin.port] in
                    let url = "redis://127.0.0.1:\(port)/logins"
                    let work = WriterProcess.Work.logins(origin: originPort)
                    return try await WriterProcess.run(work, id: id, url: url, last: last, kills: kills)
                }
            }
            for count in 1...max(kills / 2, 1) {
                try await origin.reaches(last * count / (kills + 1))
                try server.restart()
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let killed = reports.reduce(into: Set<Int32>()) { $0.formUnion($1.killed) }
        let lost = Set(reports.flatMap(\.lost).map { "\($0.process) \($0.login)" })
        #expect(origin.mostAtOnce == 1)
        for (number, processes) in origin.logins {
            // Only a process that was killed, or that reported the loss of its lease, leaves a login to another.
            for process in processes.dropLast() {
                #expect(killed.contains(process) || lost.contains("\(process) \(number)"), "login \(number)")
            }
        }
        let later = try await server.running.jar("logins")
        #expect(later.pairs == ["session=\(last)"])
        await Self.close(later)
        await origin.stop()
        server.stop()
    }

    /// By hand, on a machine with nothing else to do: the times depend on it.
    @Test(
        "a change reaches another process within 50 ms at the 99th percentile",
        .enabled(if: ProcessInfo.processInfo.environment["BEELINE_MEASURE"] != nil)
    )
    func latency() async throws {
        let server = try RedisServer(try #require(RedisServer.programs.first))
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
