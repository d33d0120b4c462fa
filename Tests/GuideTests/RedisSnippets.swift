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

func shareJar() async throws {
    let shared = try RedisJar(RedisJarConfiguration(url: "redis://127.0.0.1/shop"))
    try await shared.synchronize()
    let client = try BeelineClient(jar: shared.jar)

    let url = try HTTPURL("https://shop.example/account")
    let outcome = try await shared.ensureLoggedIn(to: url.origin) { jar in
        jar.cookies(for: url).contains { $0.name == "session" }
    } logIn: { jar in
        let client = try BeelineClient(jar: jar)
        _ = try await client.get("https://shop.example/login")
        await client.shutDown()
    }
    print(outcome, shared.state.isConnected)

    _ = try await client.get("https://shop.example/account")
    await client.shutDown()
    try await shared.close()
}
#endif
