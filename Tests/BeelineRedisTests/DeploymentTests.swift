// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import CookieJar
import Foundation
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Servers of real deployments",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct DeploymentTests {
    /// A folder for the files of one test.
    private final class Folder {
        let path = NSTemporaryDirectory() + "/beeline-redis-\(UUID().uuidString)"

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
            let file = "\(path)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            return file
        }
    }

    private static func server(_ arguments: [String] = [], port: UInt16? = nil) throws -> RedisServer {
        try RedisServer(try #require(RedisServer.programs.first), port: port, arguments: arguments)
    }

    private static func jar(_ url: String) throws -> RedisJar {
        var configuration = try RedisJarConfiguration(url: url)
        configuration.redis.timeout = .seconds(2)
        configuration.redis.retryDelay = .milliseconds(5)...Duration.milliseconds(50)
        configuration.feedWait = .milliseconds(100)
        return try RedisJar(configuration)
    }

    // MARK: TLS

    private static func secured(_ folder: Folder, _ certificate: TestCertificate) throws -> RedisServer {
        let port = try freePorts(1)[0]
        let files = try certificate.write(to: folder.path)
        return try server(
            [
                "--port", "0", "--tls-port", "\(port)", "--tls-cert-file", files.chain, "--tls-key-file", files.key,
                "--tls-ca-cert-file", files.chain, "--tls-auth-clients", "no",
            ],
            port: port
        )
    }

    @Test("jars and answers work over TLS, with large batches in both directions")
    func tls() async throws {
        let folder = try Folder()
        let authority = try TestAuthority()
        let server = try Self.secured(folder, try authority.certificate(for: "localhost"))
        let roots = try folder.write(authority.rootPEM, to: "ca.pem")
        let one = try Self.jar("rediss://localhost:\(server.port)/shop?cacert=\(roots)")
        let two = try Self.jar("rediss://localhost:\(server.port)/shop?cacert=\(roots)")
        try await one.synchronize(within: .seconds(30))
        for number in 0..<150 { one.set("n\(number)", String(repeating: "v", count: 4_000)) }
        for jar in [one, two] { try await jar.synchronize(within: .seconds(30)) }
        #expect(two.pairs == one.pairs && two.pairs.count == 150)
        let answers = RedisAnswers(
            try {
                var configuration = try RedisConfiguration(url: "rediss://localhost:\(server.port)?cacert=\(roots)")
                configuration.timeout = .seconds(5)
                return configuration
            }()
        )
        let question = Question(try Host("a.test"), families: .v4)
        let records = Answer(v4: .addresses([IPAddress(v4: 0xc633_6401)], ttl: .seconds(60)))
        try await withTimeLimit(.seconds(30), for: { "the answer" }) {
            while await answers.answer(to: question, from: "one") == nil {
                await answers.share(records, to: question, from: "one")
            }
        }
        await answers.shutDown()
        try await one.close()
        try await two.close()
        server.stop()
    }

    @Test("a certificate of another authority or for another host is refused, and the reason is given")
    func badCertificates() async throws {
        let folder = try Folder()
        let (authority, other) = (try TestAuthority(), try TestAuthority())
        let roots = try folder.write(authority.rootPEM, to: "ca.pem")
        let untrusted = "the certificate's issuer is not trusted, or it is not valid now"
        for (certificate, words) in [
            (try other.certificate(for: "localhost"), untrusted),
            (try authority.certificate(for: "other.test"), "the certificate is for another name"),
            (try authority.certificate(for: "localhost", flaw: .expired), untrusted),
        ] {
            let server = try Self.secured(folder, certificate)
            let jar = try Self.jar("rediss://localhost:\(server.port)/shop?cacert=\(roots)")
            // The server may not listen yet.
            try await jar.state { $0.failure == "TLS with localhost:\(server.port): \(words)" }
            #expect(!jar.state.isConnected)
            try await jar.close()
            server.stop()
        }
    }

    @Test("a file of authorities that cannot be used is named with the reason, also if it changes later")
    func badAuthorityFile() async throws {
        let folder = try Folder()
        let (text, roots) = (try folder.write("no certificate", to: "text"), try folder.write("", to: "roots"))
        for (file, reason) in [
            ("\(folder.path)/none", "cannot be opened"), (folder.path, "is not a regular file"),
            (text, "has no certificate in PEM form"),
        ] {
            let error = #expect(throws: RedisError.self) {
                try RedisConfiguration(url: "rediss://localhost:1?cacert=\(file)")
            }
            #expect(error?.code == .badSecret)
            #expect(error?.message.contains("\(file) \(reason)") == true, "\(error as Any)")
        }
        // The file may change after the URL was read.
        try Data(try TestAuthority().rootPEM.utf8).write(to: URL(fileURLWithPath: roots))
        var configuration = try RedisJarConfiguration(url: "rediss://localhost:1/shop?cacert=\(roots)")
        try Data("no certificate".utf8).write(to: URL(fileURLWithPath: roots))
        configuration.redis.retryDelay = .milliseconds(5)...Duration.milliseconds(50)
        let jar = try RedisJar(configuration)
        try await jar.state { $0.failure == "the authority file \(roots) has no certificate in PEM form" }
        try await jar.close()
    }

    @Test("a TLS server that does not listen is reported in the system's words")
    func noTLSServer() async throws {
        let port = try freePorts(1)[0]
        let jar = try Self.jar("rediss://localhost:\(port)/shop")
        try await jar.state { $0.failure == "TLS with localhost:\(port): Connection refused" }
        try await jar.close()
    }

    @Test("a TLS server that stays silent in the handshake costs the time limit, and its connection is closed")
    func silentHandshake() async throws {
        let server = try await RawServer.start { connection in
            while try await connection.receive() != nil {}
        }
        let security = RedisSecurity(RedisTLS())
        let port = server.port
        let begin = ContinuousClock.now
        let failure = await Task.detached { () -> RedisFault? in
            do throws(RedisFault) {
                _ = try security.connect(
                    to: IPAddress(v4: 0x7f00_0001),
                    RedisHost("localhost", port: port),
                    within: .milliseconds(200)
                )
                return nil
            } catch { return error }
        }.value
        #expect(failure?.reason == "TLS with localhost:\(port): no handshake within 0.2 seconds")
        // A close alone would wait 5 s for the server.
        #expect(ContinuousClock.now - begin < .seconds(4))
        try await server.connections(within: .seconds(10)) { $0.open == 0 && $0.accepted > 0 }
        await server.stop()
    }

    // MARK: ACL

    @Test("a user with the documented permissions and a password file is enough, also for logins")
    func acl() async throws {
        let folder = try Folder()
        let server = try Self.server()
        _ = try await server.jar("up")
        let commands = """
            eval evalsha hscan hget hset hdel hlen hincrby zadd zrem zrange zrangebyscore xadd xread xrevrange pexpire time get set \
            del exists incr pttl
            """.split(separator: " ").map { "+\($0)" }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["redis-cli", "-p", "\(server.port)", "ACL", "SETUSER", "worker", "on", ">s3cret", "~{beeline:jar:shop}:*"]
            + commands
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        _ = try server.ask("ACL", "SETUSER", "default", "off")
        let password = try folder.write("s3cret\n", to: "password")
        let jar = try Self.jar("redis://worker@127.0.0.1:\(server.port)/shop?password-file=\(password)")
        jar.set("a", "1")
        try await jar.synchronize(within: .seconds(30))
        let origin = try HTTPURL("https://shop.test/").origin
        let outcome = try await jar.ensureLoggedIn(to: origin, isLoggedIn: { $0.allCookies().count > 1 }) { copy in
            copy.insert(Cookie("b", "2", domain: "shop.test"))
            copy.remove(Cookie("a", "", domain: "shop.test"))
            copy.insert(Cookie("c", "2", domain: "shop.test"))
        }
        #expect(outcome == .loggedIn && jar.pairs == ["b=2", "c=2"])
        let stranger = try Self.jar("redis://worker@127.0.0.1:\(server.port)/other?password-file=\(password)")
        try await stranger.state {
            $0.failure?.contains("NOPERM") ?? false || $0.failure?.contains("permissions") ?? false
        }
        let anonymous = try Self.jar("redis://127.0.0.1:\(server.port)/shop")
        try await anonymous.state { $0.failure?.hasPrefix("NOAUTH") ?? false }
        for jar in [jar, stranger, anonymous] { try? await jar.close(within: .milliseconds(100)) }
        server.stop()
    }

    // MARK: Sentinel

    @Test("after a fail-over the jar goes on at the server that Sentinel names, and loses nothing")
    func sentinel() async throws {
        let folder = try Folder()
        let master = try Self.server()
        _ = try await master.jar("up")
        let replica = try Self.server(["--replicaof", "127.0.0.1 \(master.port)"])
        let port = try freePorts(1)[0]
        let file = try folder.write(
            """
            sentinel monitor shop 127.0.0.1 \(master.port) 1
            sentinel down-after-milliseconds shop 300
            sentinel failover-timeout shop 2000
            """,
            to: "sentinel.conf"
        )
        let sentinel = try RedisServer(sentinel: file, port: port)
        let hole = try RefusedEndpoint()
        defer { hole.close() }
        let url = "redis+sentinel://127.0.0.1:\(hole.endpoint.port),127.0.0.1:\(port)/shop/0/basket"
        let (one, two) = (try Self.jar(url), try Self.jar(url))
        one.set("before", "1")
        try await one.synchronize(within: .seconds(30))
        try await two.has("before=1")
        try await eventually("the replica", within: .seconds(60), every: .milliseconds(20)) {
            try sentinel.ask("SENTINEL", "replicas", "shop").contains("slave")
                && replica.ask("INFO", "replication").contains("master_link_status:up")
        }
        master.stop()
        // Sentinel would make a replica of any other server that takes the port.
        let placeholder = try await RawServer.start(port: master.port) { _ in }
        // Also a change that the old server may have had and the new one has not.
        one.set("meanwhile", "1")
        one.remove("before")
        try await two.has("meanwhile=1")
        try await one.synchronize(within: .seconds(30))
        #expect(try replica.ask("HLEN", "{beeline:jar:basket}:cookies") == "2\n")
        for jar in [one, two] { try await jar.close() }
        sentinel.stop()
        replica.stop()
        await placeholder.stop()
    }

    // MARK: Cluster

    /// Two servers that have half of the slots each.
    private static func cluster(in folder: Folder) async throws -> [RedisServer] {
        let buses = try freePorts(4)
        let servers = try (0..<2).map { number in
            try Self.server([
                "--cluster-enabled", "yes", "--cluster-port", "\(buses[number])", "--cluster-config-file",
                "\(folder.path)/nodes\(number)",
            ])
        }
        try await eventually("the servers", within: .seconds(30)) {
            try servers.allSatisfy { try $0.ask("PING").contains("PONG") }
        }
        _ = try servers[0].ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        _ = try servers[1].ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        _ = try servers[1].ask("CLUSTER", "SET-CONFIG-EPOCH", "2")
        _ = try servers[0].ask("CLUSTER", "MEET", "127.0.0.1", "\(servers[1].port)", "\(buses[1])")
        try await eventually("the cluster", within: .seconds(60), every: .milliseconds(20)) {
            try servers.allSatisfy { try $0.ask("CLUSTER", "INFO").contains("cluster_state:ok") }
        }
        return servers
    }

    @Test("a server of a cluster redirects the jar to the one that has its keys")
    func cluster() async throws {
        let folder = try Folder()
        let servers = try await Self.cluster(in: folder)
        let jars = try servers.map { try Self.jar("redis://127.0.0.1:\($0.port)/shop") }
        jars[0].set("a", "0")
        jars[1].set("b", "1")
        for jar in jars { try await jar.has("a=0", "b=1") }
        for jar in jars { try await jar.close() }
        for server in servers { server.stop() }
    }

    @Test("answers and counters are shared through all servers of a cluster")
    func answersInCluster() async throws {
        let folder = try Folder()
        let servers = try await Self.cluster(in: folder)
        let told = NIOLockedValueBox<[String]>([])
        let redis = servers.map { server in
            server.answers { $0.onUnavailable = { text in told.withLockedValue { $0.append(text) } } }
        }
        for answers in redis { try await answers.connected() }
        for number in UInt32(0)..<50 {
            let question = Question(try Host("n\(number).test"), families: .v4)
            let address = IPAddress(v4: 0xc633_6400 + number)
            // The first key of a server opens the connection to it.
            try await withTimeLimit(.seconds(30), for: { "the answer at the other server" }) {
                while await redis[1].answer(to: question, from: "one")?.v4?.addresses != [address] {
                    let answer = Answer(v4: .addresses([address], ttl: .seconds(60)))
                    await redis[0].share(answer, to: question, from: "one")
                }
            }
            for (index, answers) in redis.enumerated() {
                #expect(try await answers.added(2, to: "k\(number)") == 2 * (index + 1))
            }
        }
        let sizes = try servers.map { try $0.ask("DBSIZE").split(separator: "\n").first.flatMap { Int($0) } ?? 0 }
        #expect(sizes.reduce(0, +) == 100 && !sizes.contains(0), "\(sizes)")
        #expect(told.withLockedValue { $0.isEmpty })
        for answers in redis { await answers.shutDown() }
        for server in servers { server.stop() }
    }

    // MARK: Sentinels and secrets

    @Test(
        "the address of a Sentinel is checked before it is used or shown",
        arguments: ["$3\r\na b\r\n$1\r\n1\r\n", "$1\r\na\r\n$1\r\n0\r\n", "$5\r\na\n\u{1b}[m\r\n$1\r\n1\r\n"]
    )
    func badSentinel(_ elements: String) async throws {
        let sentinel = try await RedisDouble.start { _ in .reply("*2\r\n\(elements)") }
        let told = NIOLockedValueBox<[String]>([])
        var configuration = sentinel.configuration
        configuration.sentinel = RedisSentinel(hosts: [RedisHost("127.0.0.1", port: sentinel.port)], service: "shop")
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration)
        try await eventually("the reason", within: .seconds(30)) { !told.withLockedValue { $0.isEmpty } }
        #expect(told.withLockedValue { $0 } == ["Sentinel 127.0.0.1:\(sentinel.port): its reply is malformed"])
        await redis.shutDown()
        await sentinel.stop()
    }

    @Test("printing a configuration shows neither password nor key")
    func printing() throws {
        var configuration = RedisJarConfiguration(name: "shop")
        configuration.redis.password = "s3cret"
        configuration.redis.user = "me"
        configuration.encryptionKey = RedisJarEncryptionKey([UInt8](repeating: 171, count: 32))
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), "\(configuration.redis)", dumped] {
            #expect(!text.contains("s3cret") && !text.contains("171") && text.contains("me"), "\(text)")
        }
    }

    // MARK: URLs

    @Test("a URL names server, user, database and jar, and never a password")
    func urls() throws {
        let folder = try Folder()
        let password = try folder.write("p w\n", to: "password")
        let plain = try RedisJarConfiguration(url: "redis://h.test/a/b")
        #expect(
            plain.name == "a/b" && plain.redis.host == "h.test" && plain.redis.port == 6_379 && plain.redis.tls == nil
        )
        let roots = try folder.write(try TestAuthority().rootPEM, to: "c a")
        let space = roots.replacingOccurrences(of: " ", with: "%20")
        let full = try RedisJarConfiguration(url: "REDISS://me@[::1]:7/3/j?cacert=\(space)&password-file=\(password)")
        #expect(full.name == "j" && full.redis.database == 3 && full.redis.host == "::1" && full.redis.port == 7)
        #expect(full.redis.user == "me" && full.redis.password == "p w" && full.redis.tls?.authorityFile == roots)
        #expect(try RedisJarConfiguration(url: "redis://h.test/3").name == "3")
        let sentinel = try RedisConfiguration(url: "redis+sentinel://a.test,b.test:5/shop/2")
        #expect(sentinel.sentinel?.service == "shop" && sentinel.database == 2)
        #expect(sentinel.sentinel?.hosts == [RedisHost("a.test", port: 26_379), RedisHost("b.test", port: 5)])
        let open = try folder.write("x", to: "open", mode: 0o644)
        let refused = [
            "redis://", "redis://h.test", "http://h.test/a", "redis://u:secret@h.test/a", "redis://h.test:0/a",
            "redis://h.test:x/a", "redis://a.test,b.test/a", "redis://h.test/a?x=1", "redis://h.test/a?cacert=/x",
            "redis://me@h.test/a", "redis://h.test/a#b", "redis://h.test/a?key-file", "redis://h.test/%zz",
            "redis+sentinel://h.test/a", "redis://h.test/a?password-file=\(open)", "redis://h.test/a?key-file=/none",
            "redis://h.test/a?password-file=%00", "redis:// h/a",
        ]
        for url in refused {
            let error = #expect(throws: RedisError.self, "\(url)") { try RedisJarConfiguration(url: url) }
            #expect(error?.message.contains("secret") == false)
        }
    }
}
#endif
