// SPDX-License-Identifier: Apache-2.0

#if Redis
import Beeline
import BeelineRedis

// The code of BeelineRedis's guide, compiled; see GuideSnippets.swift.

func shareAnswers() async throws {
    let redis = RedisAnswers(RedisConfiguration())
    var configuration = ClientConfiguration()
    configuration.resolver.cache.shared = redis
    let client = try BeelineClient(configuration)

    _ = try await client.get("https://api.example.com/")
    await client.shutDown()
    await redis.shutDown()
}
#endif
