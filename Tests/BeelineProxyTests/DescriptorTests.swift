// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import BeelineProxy
import BeelineTesting
import Glibc
import Testing

@Suite("Descriptors run out", .timeLimit(.minutes(1)))
struct DescriptorTests {
    /// In a process of its own, whose limit it may lower.
    @Test("a proxy that has no descriptor left serves again when there are some")
    func recovers() async throws {
        await #expect(processExitsWith: .success) {
            let lab = try await ProxyLab()
            await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            getrlimit(resource, &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = rlim_t(OpenDescriptors.count() + 12)
            setrlimit(resource, &limit)
            var connections: [RawConnection] = []
            for _ in 0..<12 {
                if let connection = try? await lab.connect() { connections.append(connection) }
            }
            // The proxy has fewer than its clients: they share what there was.
            let counts = await lab.proxy.counts()
            guard counts.connections < 12 else { throw Unexpected(text: "descriptors did not run out: \(counts)") }
            for connection in connections { await connection.close() }
            limit.rlim_cur = before
            setrlimit(resource, &limit)
            try await withTimeLimit(.seconds(20), { "a tunnel" }) {
                await (try lab.tunnel(to: "a.test", port: lab.plain.port)).close()
            }
            await lab.stop()
        }
    }
}
#endif
