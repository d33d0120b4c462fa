// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineServer
import BeelineTesting
import Dispatch
import HTTPDNS
import NIOConcurrencyHelpers
import Names
import Testing

@testable import BeelineRedis

@Suite(
    "Answers shared through Redis",
    .enabled(if: !RedisServer.programs.isEmpty, "neither redis-server nor valkey-server is installed"),
    .timeLimit(.minutes(2))
)
struct RedisTests {
    private static let address = IPAddress(v4: 0xc633_6401)

    private static func upstream(_ name: String = "one") -> ScriptedUpstream {
        ScriptedUpstream(name) { question in
            switch question.host.text {
            case "none.test": .answer(Answer(v4: .absent(.noName, ttl: .seconds(30))))
            case "short.test": .answer(Answer(v4: .addresses([address], ttl: .zero)))
            default: .answer(Answer(v4: .addresses([address], ttl: .seconds(300))))
            }
        }
    }

    private static func resolver(_ upstream: ScriptedUpstream, _ shared: RedisAnswers) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.network.monitor = nil
        configuration.families = .v4
        configuration.cache.shared = shared
        return Resolver(configuration)
    }

    /// Asks until a connection to the server is open.
    private static func connect(_ redis: RedisAnswers) async throws {
        try await withTimeLimit(.seconds(30), for: { "the connection to the server" }) {
            while !redis.isConnected {
                _ = await redis.answer(to: Question(try Host("nobody.test"), families: .v4), from: "nobody")
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Resolves a host and waits until the answer is in the server: it is written after the caller has returned.
    private static func share(_ host: Host, resolver: Resolver, redis: RedisAnswers, name: String) async throws {
        _ = try? await resolver.resolve(host)
        try await eventually("\(host) in the server", within: .seconds(30)) {
            await redis.answer(to: Question(host, families: .v4), from: name) != nil
        }
    }

    @Test("an answer of one resolver serves another resolver, with the remaining TTL", arguments: RedisServer.programs)
    func sharing(_ program: String) async throws {
        let server = try RedisServer(program)
        let (one, other) = (server.answers(), server.answers())
        try await Self.connect(one)
        try await Self.connect(other)
        let (first, second, stranger) = (Self.upstream(), Self.upstream(), Self.upstream("another"))
        let resolvers = [Self.resolver(first, one), Self.resolver(second, other), Self.resolver(stranger, other)]
        let (host, none) = (try Host("www.test"), try Host("none.test"))
        try await Self.share(host, resolver: resolvers[0], redis: one, name: "one")
        try await Self.share(none, resolver: resolvers[0], redis: one, name: "one")

        let resolution = try await resolvers[1].resolve(host)
        #expect(resolution.addresses == [Self.address] && resolution.upstream == "one")
        #expect(resolution.source == .cached && resolution.ttl <= .seconds(300) && resolution.ttl > .seconds(60))
        let error = await #expect(throws: ResolutionError.self) { try await resolvers[1].resolve(none) }
        #expect(error?.code == .noSuchName)
        #expect(second.questions.isEmpty && first.questions.count == 2)
        // A fresh lookup asks the upstream, and answers of different upstreams are separate.
        #expect(try await resolvers[1].resolve(host, fresh: true).source == .fresh)
        #expect(try await resolvers[2].resolve(host).source == .fresh)
        #expect(second.questions.count == 1 && stranger.questions.count == 1)
        for resolver in resolvers { await resolver.shutDown() }
        await one.shutDown()
        await other.shutDown()
        server.stop()
    }

    @Test("the first use opens the connection, and shared answers wait for it", arguments: RedisServer.programs)
    func first(_ program: String) async throws {
        let server = try RedisServer(program)
        // Once the scout is connected, the server is running.
        let scout = server.answers()
        try await Self.connect(scout)
        let host = try Host("first.test")
        let (writing, reading) = (server.answers(), server.answers())
        // The connection cannot be open yet.
        await writing.share(
            Answer(v4: .addresses([Self.address], ttl: .seconds(60))),
            to: Question(host, families: .v4),
            from: "one"
        )
        try await reading.connected()
        // The answer is written after its caller continues.
        var found: Answer?
        try await eventually("the answer", within: .seconds(30)) {
            found = await reading.answer(to: Question(host, families: .v4), from: "one")
            return found != nil
        }
        #expect(found?.v4?.addresses == [Self.address])
        await scout.shutDown()
        await writing.shutDown()
        await reading.shutDown()
        server.stop()
    }

    @Test("resolvers work without the server and use it again when it is back")
    func away() async throws {
        let program = try #require(RedisServer.programs.first)
        let port = try freePorts(1)[0]
        let dead = try RedisServer(program, port: port)
        dead.stop()
        let redis = dead.answers()
        let upstream = Self.upstream()
        let resolver = Self.resolver(upstream, redis)
        #expect(try await resolver.resolve(try Host("a.test")).source == .fresh)

        let server = try RedisServer(program, port: port)
        try await Self.connect(redis)
        try await Self.share(try Host("b.test"), resolver: resolver, redis: redis, name: "one")
        server.stop()
        for index in 0..<3 { #expect(try await resolver.resolve(try Host("c\(index).test")).source == .fresh) }
        #expect(!redis.isConnected)

        let again = try RedisServer(program, port: port)
        try await Self.connect(redis)
        try await Self.share(try Host("d.test"), resolver: resolver, redis: redis, name: "one")
        await resolver.shutDown()
        await redis.shutDown()
        again.stop()
        #expect(await redis.answer(to: Question(try Host("d.test"), families: .v4), from: "one") == nil)
    }

    @Test("a server that accepts connections but stays silent is not used")
    func silent() async throws {
        let hole = try await RawServer.start { _ in try await Gate().wait() }
        var configuration = RedisConfiguration()
        configuration.port = hole.port
        configuration.password = "secret"
        configuration.timeout = .milliseconds(20)
        let redis = RedisAnswers(configuration)
        let resolver = Self.resolver(Self.upstream(), redis)
        for index in 0..<5 { #expect(try await resolver.resolve(try Host("n\(index).test")).source == .fresh) }
        #expect(!redis.isConnected)
        await resolver.shutDown()
        await redis.shutDown()
        await hole.stop()
    }

    @Test("a cancelled question does not wait for a server that has stopped answering")
    func cancelled() async throws {
        let gate = Gate()
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await gate.wait()
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(3_600)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let question = Question(try Host("a.test"), families: .v4)
        let waiting = Task { await redis.answer(to: question, from: "one") }
        // The question is at the server.
        try await gate.arrivals(atLeast: 1)
        waiting.cancel()
        try await withTimeLimit(.seconds(30), for: { "the cancelled question" }) {
            #expect(await waiting.value == nil)
        }
        await server.stop()
        await redis.shutDown()
    }

    @Test("a connection that the server closed while idle is reopened without a pause")
    func endedWhileIdle() async throws {
        let program = try #require(RedisServer.programs.first)
        let port = try freePorts(1)[0]
        let first = try RedisServer(program, port: port)
        let scout = first.answers()
        try await Self.connect(scout)
        // Now the first attempt succeeds. After another failure there would be no attempt for a minute.
        let redis = first.answers { $0.retryDelay = .seconds(60)...Duration.seconds(60) }
        try await Self.connect(redis)
        let question = Question(try Host("a.test"), families: .v4)
        _ = await redis.answer(to: question, from: "one")
        first.stop()
        let second = try RedisServer(program, port: port)
        let other = second.answers()
        try await Self.connect(other)
        _ = await redis.answer(to: question, from: "one")
        #expect(redis.isConnected)
        for answers in [redis, scout, other] { await answers.shutDown() }
        second.stop()
    }

    @Test("the pause grows while a server accepts connections and never answers")
    func pauseGrows() async throws {
        let hole = try await RawServer.start { _ in try await Gate().wait() }
        var configuration = RedisConfiguration()
        configuration.port = hole.port
        configuration.timeout = .milliseconds(10)
        configuration.retryDelay = .milliseconds(1)...Duration.seconds(10)
        let redis = RedisAnswers(configuration)
        let question = Question(try Host("a.test"), families: .v4)
        try await withTimeLimit(.seconds(30), for: { "a longer pause" }) {
            while redis.nextPause < .milliseconds(16) {
                _ = await redis.answer(to: question, from: "one")
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        await redis.shutDown()
        await hole.stop()
    }

    @Test("an endless reply ends when the time limit is over")
    func endlessReply() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await connection.send("$536870912\r\n")
            // Single octets, so that the socket is never silent and its buffer stays small.
            while true { try await connection.send("x") }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .milliseconds(200)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        try await withTimeLimit(.seconds(30), for: { "the end of the exchange" }) {
            #expect(await redis.answer(to: Question(try Host("a.test"), families: .v4), from: "one") == nil)
        }
        #expect(!redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test("an array as a reply ends the connection without reserving memory for its elements")
    func arrayReply() async throws {
        let server = try await RawServer.start { connection in
            _ = try await connection.receive()
            try await connection.send("*1\r\n:1\r\n:1\r\n")
            try await connection.hold()
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        try await withTimeLimit(.seconds(30), for: { "the end of the exchange" }) {
            #expect(await redis.answer(to: Question(try Host("a.test"), families: .v4), from: "one") == nil)
        }
        #expect(!redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test(
        "the pauses grow while a server refuses commands, and each reason is reported once",
        arguments: [
            "READONLY You can't write against a read only replica.", "NOAUTH Authentication required.",
            "OOM command not allowed when used memory > 'maxmemory'.", "LOADING Redis is loading the dataset in memory",
            "MISCONF Errors writing to the AOF file: No space left on device",
        ]
    )
    func refusals(_ reason: String) async throws {
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() {
                // A replica answers reads and refuses writes.
                let replies = String(decoding: bytes, as: UTF8.self).split(separator: "*").map { command in
                    command.contains("SET") ? "-\(reason)\r\n" : command.contains("PTTL") ? ":-2\r\n" : "$-1\r\n"
                }
                try await connection.send(replies.joined())
            }
        }
        let told = NIOLockedValueBox<[String]>([])
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        configuration.retryDelay = .milliseconds(1)...Duration.seconds(10)
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration)
        let question = Question(try Host("a.test"), families: .v4)
        try await withTimeLimit(.seconds(30), for: { "a longer pause" }) {
            while redis.nextPause < .milliseconds(64) {
                _ = await redis.answer(to: question, from: "one")
                await redis.share(
                    Answer(v4: .addresses([Self.address], ttl: .seconds(60))),
                    to: question,
                    from: "one"
                )
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        #expect(told.withLockedValue { $0 } == [reason])
        await redis.shutDown()
        await server.stop()
    }

    @Test("a key of another type does not make the server unavailable")
    func wrongType() async throws {
        let server = try await RawServer.start { connection in
            while try await connection.receive() != nil {
                try await connection.send("-WRONGTYPE Operation against a key holding a wrong kind\r\n:-1\r\n")
            }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        #expect(await redis.answer(to: Question(try Host("a.test"), families: .v4), from: "one") == nil)
        #expect(redis.isConnected)
        await redis.shutDown()
        await server.stop()
    }

    @Test("a slow lookup of the server's name delays no question and no shutdown, and shared answers wait for it")
    func slowName() async throws {
        let commands = NIOLockedValueBox("")
        let server = try await RawServer.start { connection in
            while let bytes = try await connection.receive() {
                commands.withLockedValue { $0 += String(decoding: bytes, as: UTF8.self) }
                try await connection.send("+OK\r\n")
            }
        }
        // One for each of the two lookups.
        let (dns, blackHole) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var configuration = RedisConfiguration()
        configuration.host = "redis.test"
        configuration.port = server.port
        let (timeout, question) = (configuration.timeout, Question(try Host("a.test"), families: .v4))
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration) { _ in
            dns.wait()
            return .success([IPAddress(v6: 0, 1), IPAddress(v4: 0x7f00_0001)])
        }
        configuration.timeout = timeout
        let lost = RedisAnswers(configuration) { _ in
            blackHole.wait()
            return .success([])
        }
        try await withTimeLimit(.seconds(30), for: { "the calls that do not wait for the name" }) {
            for answers in [redis, lost] {
                #expect(await answers.answer(to: question, from: "one") == nil)
                await answers.share(
                    Answer(v4: .addresses([Self.address], ttl: .seconds(60))),
                    to: question,
                    from: "one"
                )
            }
            await lost.shutDown()
        }
        #expect(commands.withLockedValue { $0.isEmpty })
        dns.signal()
        try await eventually("the answer in the server", within: .seconds(30)) {
            commands.withLockedValue { $0.contains("198.51.100.1") }
        }
        blackHole.signal()
        await redis.shutDown()
        await server.stop()
    }

    @Test("a server name without addresses is reported, and looked up again after the pause")
    func noSuchServer() async throws {
        let told = NIOLockedValueBox<[String]>([])
        let asked = NIOLockedValueBox(0)
        var configuration = RedisConfiguration()
        configuration.host = "redis.test"
        configuration.retryDelay = .milliseconds(1)...Duration.milliseconds(2)
        configuration.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        let redis = RedisAnswers(configuration) { _ in
            asked.withLockedValue { $0 += 1 }
            return .success([])
        }
        let question = Question(try Host("a.test"), families: .v4)
        try await withTimeLimit(.seconds(30), for: { "the next lookup" }) {
            while asked.withLockedValue({ $0 }) < 3 {
                _ = await redis.answer(to: question, from: "one")
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        #expect(told.withLockedValue { $0 } == ["the name redis.test has no address"])
        await redis.shutDown()
    }

    @Test("waiting questions are sent in batches of limited size, each with the full time limit")
    func batches() async throws {
        let gate = Gate()
        let sizes = NIOLockedValueBox<[Int]>([])
        let server = try await RawServer.start { connection in
            while true {
                var (text, count) = ("", 0)
                // A batch is complete when it ends with a complete command.
                repeat {
                    guard let bytes = try await connection.receive() else { return }
                    text += String(decoding: bytes, as: UTF8.self)
                    count = text.split(separator: "*2\r\n").count
                } while count % 2 == 1 || !text.hasSuffix("\r\n")
                if sizes.withLockedValue({ $0.isEmpty }) { try await gate.wait() }
                sizes.withLockedValue { [count] in $0.append(count) }
                try await connection.send(String(repeating: "$-1\r\n:-2\r\n", count: count / 2))
            }
        }
        var configuration = RedisConfiguration()
        configuration.port = server.port
        configuration.timeout = .seconds(20)
        let redis = RedisAnswers(configuration)
        try await redis.connected()
        let asking = Task {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...100 {
                    group.addTask {
                        guard let host = try? Host("a.test") else { return }
                        _ = await redis.answer(to: Question(host, families: .v4), from: "one")
                    }
                }
            }
        }
        try await gate.arrivals(atLeast: 1)
        try await eventually("the questions", within: .seconds(30)) { redis.waiting >= 101 - RedisAnswers.batchSize }
        gate.open()
        await asking.value
        let counts = sizes.withLockedValue { $0 }
        #expect(counts.reduce(0, +) == 202 && counts.allSatisfy { $0 <= 2 * RedisAnswers.batchSize }, "\(counts)")
        await redis.shutDown()
        await server.stop()
    }

    @Test("a server with a password accepts only clients that know it")
    func password() async throws {
        let program = try #require(RedisServer.programs.first)
        let server = try RedisServer(program, arguments: ["--requirepass", "s3cret"])
        let right = server.answers {
            $0.password = "s3cret"
            $0.database = 3
        }
        try await Self.connect(right)
        let told = NIOLockedValueBox<[String]>([])
        let wrong = server.answers {
            $0.password = "wrong"
            $0.onUnavailable = { text in told.withLockedValue { $0.append(text) } }
        }
        let question = Question(try Host("a.test"), families: .v4)
        try await eventually("the refusal", within: .seconds(30)) {
            #expect(await wrong.answer(to: question, from: "one") == nil)
            return !told.withLockedValue { $0.isEmpty }
        }
        for _ in 0..<20 { #expect(await wrong.answer(to: question, from: "one") == nil) }
        #expect(!wrong.isConnected)
        let reasons = told.withLockedValue { $0 }
        #expect(reasons.count == 1 && reasons.allSatisfy { $0.contains("password") }, "\(reasons)")
        await right.shutDown()
        await wrong.shutDown()
        server.stop()
    }

    @Test("concurrent questions share a connection, and each gets its own answer")
    func many() async throws {
        let program = try #require(RedisServer.programs.first)
        let server = try RedisServer(program)
        let redis = server.answers()
        try await Self.connect(redis)
        await withTaskGroup(of: Void.self) { group in
            for index in UInt32(0)..<500 {
                group.addTask {
                    guard let host = try? Host("n\(index).test") else { return }
                    let question = Question(host, families: .both)
                    let answer = Answer(
                        v4: .addresses([IPAddress(v4: 0xc633_0000 | index)], ttl: .seconds(100)),
                        v6: .absent(.noRecord, ttl: .seconds(100))
                    )
                    await redis.share(answer, to: question, from: "one")
                    let back = await redis.answer(to: question, from: "one")
                    #expect(back?.v4?.addresses == [IPAddress(v4: 0xc633_0000 | index)])
                    #expect(back?.v6?.addresses == [])
                }
            }
        }
        await redis.shutDown()
        server.stop()
    }

    // MARK: Texts

    @Test("an answer without a TTL is not shared, and one that has almost expired is not used")
    func texts() throws {
        let two = Answer.Records.addresses([Self.address, IPAddress(v4: 0xc633_6402)], ttl: .seconds(100))
        let written = try #require(AnswerText.write(two, maxTTL: .seconds(86_400)))
        #expect(written.text == "100 198.51.100.1 198.51.100.2" && written.ttl == .seconds(100))
        let octets = Array(written.text.utf8)
        #expect(AnswerText.read(octets, .v4, left: .seconds(90))?.addresses == two.addresses)
        #expect(AnswerText.read(octets, .v4, left: .seconds(90))?.ttl == .seconds(90))
        let refused: [(String, IPAddress.Family, Duration, String)] = [
            (written.text, .v4, .seconds(10), "a tenth is left"),
            (written.text, .v4, .seconds(101), "more is left than there ever was"),
            (written.text, .v4, .milliseconds(-2), "the key is gone"),
            (written.text, .v6, .seconds(90), "the other family"),
            ("100", .v4, .seconds(90), "no address"), ("100 none none", .v4, .seconds(90), "two words"),
            ("100 198.51.100.1 x", .v4, .seconds(90), "no address"), ("x 198.51.100.1", .v4, .seconds(90), "no TTL"),
        ]
        for (text, family, left, why) in refused {
            #expect(AnswerText.read(Array(text.utf8), family, left: left) == nil, "\(why)")
        }
        #expect(AnswerText.write(.addresses([Self.address], ttl: nil), maxTTL: .seconds(60)) == nil)
        #expect(AnswerText.write(.addresses([Self.address], ttl: .zero), maxTTL: .seconds(60)) == nil)
        #expect(AnswerText.write(two, maxTTL: .seconds(60))?.ttl == .seconds(60))
    }

    @Test("no text makes the reader trap, and each accepted text is written the same again")
    func fuzz() {
        var random = SeededRandom(seed: 6_379)
        let seeds = ["100 198.51.100.1 198.51.100.2", "7 2001:db8::1", "30 none", "5 noname"].map { Array($0.utf8) }
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var octets = seeds[Int.random(in: 0..<seeds.count, using: &random)]
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let place = Int.random(in: 0..<octets.count, using: &random)
                octets[place] = UInt8.random(in: .min ... .max, using: &random)
            }
            let family: IPAddress.Family = Bool.random(using: &random) ? .v4 : .v6
            guard let records = AnswerText.read(octets, family, left: .seconds(5)) else { continue }
            let again = AnswerText.write(records, maxTTL: .seconds(86_400))
            #expect(again.flatMap { AnswerText.read(Array($0.text.utf8), family, left: .seconds(5)) } == records)
        }
    }
}
#endif
