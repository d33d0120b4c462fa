// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import Foundation

/// A server, its replica, and a Sentinel that promotes the replica when the server ends.
actor RedisPair {
    private let folder = NSTemporaryDirectory() + "/beeline-redis-pair-\(UUID().uuidString)"
    private let program: String
    private let sentinel: RedisServer
    /// The server that Sentinel names, and its replica.
    private(set) var master: RedisServer
    private var replica: RedisServer
    /// Holds the ports of killed servers.
    private var placeholders: [RawServer] = []

    init(_ program: String) async throws {
        self.program = program
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        master = try RedisServer(program)
        replica = try RedisServer(program, arguments: ["--replicaof", "127.0.0.1 \(master.port)"])
        let file = folder + "/sentinel.conf"
        let text = """
            sentinel monitor pair 127.0.0.1 \(master.port) 1
            sentinel down-after-milliseconds pair 300
            sentinel failover-timeout pair 2000
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        sentinel = try RedisServer(sentinel: file, port: try freePorts(1)[0])
        try await replicaIsReady()
    }

    /// The address of a jar.
    nonisolated func url(ofJar name: String) -> String { "redis+sentinel://127.0.0.1:\(sentinel.port)/pair/0/\(name)" }

    /// Kills the server, waits until its replica is promoted, and starts another replica.
    func failOver() async throws {
        let (old, new) = (master, replica)
        old.stop()
        // Until the end, because Sentinel would make a replica of any other server that takes the port.
        placeholders.append(try await RawServer.start(port: old.port) { _ in })
        let pause = Duration.milliseconds(20)
        try await eventually("the promotion of port \(new.port)", within: .seconds(60), every: pause) { [sentinel] in
            try sentinel.ask("SENTINEL", "get-master-addr-by-name", "pair").contains("\(new.port)")
                && new.ask("ROLE").hasPrefix("master")
        }
        master = new
        replica = try RedisServer(program, arguments: ["--replicaof", "127.0.0.1 \(new.port)"])
        try await replicaIsReady()
    }

    /// Waits until the replica has all data and Sentinel would promote it.
    private func replicaIsReady() async throws {
        let pause = Duration.milliseconds(20)
        try await eventually("the replica", within: .seconds(60), every: pause) { [replica, sentinel] in
            // Sentinel asks the servers for their state every ten seconds.
            let entry = try sentinel.ask("SENTINEL", "replicas", "pair").split(separator: "name\n")
                .first { $0.hasPrefix("127.0.0.1:\(replica.port)\n") }
            guard let entry, entry.contains("master-link-status\nok"), !entry.contains("s_down") else { return false }
            return try replica.ask("INFO", "replication").contains("master_link_status:up")
        }
    }

    func stop() async {
        for placeholder in placeholders { await placeholder.stop() }
        for server in [sentinel, replica, master] { server.stop() }
        try? FileManager.default.removeItem(atPath: folder)
    }
}
#endif
