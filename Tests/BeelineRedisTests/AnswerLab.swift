// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import HTTPDNS
import Names

@testable import BeelineRedis

/// Upstreams and resolvers for tests of answers that are shared through Redis.
enum AnswerLab {
    static let address = IPAddress(v4: 0xc633_6401)

    static func upstream(_ name: String = "one") -> ScriptedUpstream {
        ScriptedUpstream(name) { question in
            switch question.host.text {
            case "none.test": .answer(Answer(v4: .absent(.noName, ttl: .seconds(30))))
            case "short.test": .answer(Answer(v4: .addresses([address], ttl: .zero)))
            default: .answer(Answer(v4: .addresses([address], ttl: .seconds(300))))
            }
        }
    }

    static func resolver(_ upstream: ScriptedUpstream, _ shared: RedisAnswers) -> Resolver {
        var configuration = ResolverConfiguration(upstreams: [upstream], system: nil)
        configuration.network.monitor = nil
        configuration.families = .v4
        configuration.cache.shared = shared
        return Resolver(configuration)
    }

    /// Asks until a connection to the server is open.
    static func connect(_ redis: RedisAnswers) async throws {
        let question = Question(try Host("nobody.test"), families: .v4)
        try await eventually("the connection to the server", within: .seconds(30), every: .milliseconds(5)) {
            if !redis.isConnected { _ = await redis.answer(to: question, from: "nobody") }
            return redis.isConnected
        }
    }

    /// Resolves a host and waits until the answer is in the server: it is written after the caller has returned.
    static func share(_ host: Host, resolver: Resolver, redis: RedisAnswers, name: String) async throws {
        _ = try? await resolver.resolve(host)
        try await eventually("\(host) in the server", within: .seconds(30)) {
            await redis.answer(to: Question(host, families: .v4), from: name) != nil
        }
    }
}
#endif
