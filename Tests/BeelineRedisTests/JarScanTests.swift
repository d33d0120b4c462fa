// SPDX-License-Identifier: Apache-2.0

#if Redis
import BeelineTesting
import Testing

@testable import BeelineRedis

@Suite("Reading a whole jar", .timeLimit(.minutes(1)))
struct JarScanTests {
    @Test("a scan without an end counts as a failure of the server")
    func endlessScan() async throws {
        let server = try await RedisDouble.start { command in
            .reply(command.hasPrefix("HSCAN") ? "*2\r\n$1\r\n1\r\n*0\r\n" : "*3\r\n:0\r\n:0\r\n$3\r\n0-0\r\n")
        }
        var configuration = RedisJarConfiguration(name: "shop")
        configuration.redis = server.configuration
        configuration.surveyLimit = .milliseconds(50)
        let jar = try RedisJar(configuration)
        try await eventually("a failure; the state is \(jar.state)", within: .seconds(30)) { jar.state.failure != nil }
        #expect(jar.state.failure?.hasPrefix("HSCAN") == true)
        try? await jar.close(within: .seconds(1))
        await server.stop()
    }
}
#endif
