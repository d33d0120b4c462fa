// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineRedis
import BeelineServer

/// The answer cache shared by servers behind one load balancer. Needs a build with the trait `Redis`.
struct SharedCache: Sendable {
    /// Nil without a shared cache.
    let answers: (any SharedAnswers)?
    /// The counters for the quotas of accounts; nil without a shared cache.
    let quotas: (any QuotaStore)?

    #if Redis
    private let redis: RedisAnswers?

    init(_ arguments: ServeArguments, files: InputFiles) throws(CommandFailure) {
        redis = try Self.configuration(arguments, files).map { RedisAnswers($0) }
        answers = redis
        quotas = redis.map { RedisQuotas(redis: $0) }
    }

    /// Closes the connection.
    func end() async { await redis?.shutDown() }

    /// Parses `HOST:PORT`, `HOST` or a URL (`RedisConfiguration(url:)`).
    static func configuration(
        _ arguments: ServeArguments,
        _ files: InputFiles
    ) throws(CommandFailure) -> RedisConfiguration? {
        guard let text = arguments.redis else {
            guard arguments.redisSecret == nil else { throw CommandFailure(.usage, "--redis-secret needs --redis") }
            return nil
        }
        var configuration: RedisConfiguration
        if JarFile.isURL(text) {
            do throws(RedisError) {
                configuration = try RedisConfiguration(url: text)
            } catch {
                throw CommandFailure(error)
            }
        } else {
            configuration = RedisConfiguration()
            do {
                let hasPort = text.contains(":") && !text.hasSuffix("]")
                let origin = try HTTPURL("http://\(text)\(hasPort ? "" : ":6379")").origin
                configuration.host = origin.host.text
                configuration.port = origin.port
            } catch {
                throw CommandFailure(.usage, "--redis: \(error.message)")
            }
        }
        configuration.onUnavailable = { reason in
            Terminal.log("--redis \(text): no answers are shared: \(reason)")
        }
        if let path = arguments.redisSecret {
            configuration.password = try files.secret(path, of: "--redis-secret", form: "the path of a file")
        }
        return configuration
    }
    #else
    init(_ arguments: ServeArguments, files: InputFiles) throws(CommandFailure) { (answers, quotas) = (nil, nil) }

    func end() async {}
    #endif
}

#if Redis
/// The counters for quotas in Redis.
private struct RedisQuotas: QuotaStore {
    let redis: RedisAnswers

    func add(_ amount: Int, to key: String, lifetime: Duration) async -> Int? {
        await redis.add(amount, to: key, lifetime: lifetime)
    }
}
#endif
