// SPDX-License-Identifier: Apache-2.0

import Beeline
import BenchSupport
import DirectHTTP
import NIOCore
import Names

/// `beeline-bench stalled`: many exchanges at once with a server that never answers, how many threads that takes, and how
/// long another request takes beside them.
struct StalledBench {
    private let arguments: EngineArguments

    init(_ arguments: [String]) throws { self.arguments = try EngineArguments(arguments) }

    func run() async throws {
        DescriptorLimit.raise()
        var configuration = EngineConfiguration()
        configuration.connectionsPerOrigin = arguments.count + 1
        let engine = Engine(configuration: configuration)
        let url = try HTTPURL(arguments.url)
        let answered = try HTTPURL(url.origin.description + "/")
        let endpoints = EndpointList([try Endpoint(parsing: arguments.connect, defaultPort: nil)])
        let tls = arguments.tls
        @Sendable func get(_ url: HTTPURL) async throws -> Int {
            let response = try await engine.exchange(PreparedRequest(.get, url), from: endpoints, tls: tls)
            return try await response.body.collect(upTo: 1 << 20).readableBytes
        }
        _ = try await get(answered)
        let before = ProcessMemory.kibibytes("Threads")
        let memory = ProcessMemory.kibibytes("VmRSS")
        let stalled = (0..<arguments.count).map { _ in Task { try await get(url) } }
        while engine.openConnections < arguments.count { try await Task.sleep(for: .milliseconds(10)) }
        let threads = ProcessMemory.kibibytes("Threads")
        let start = NIODeadline.now()
        _ = try await get(answered)
        let beside = NIODeadline.now() - start
        var output = BenchOutput()
        output.add("bench", "stalled")
        output.add("version", BeelineClient.version)
        output.add("exchanges", arguments.count)
        output.add("threads_before", before)
        output.add("threads", threads)
        output.add("beside_us", Double(beside.nanoseconds) / 1_000)
        output.add("rss_kb_each", Double(ProcessMemory.kibibytes("VmRSS") - memory) / Double(arguments.count))
        for task in stalled { task.cancel() }
        for task in stalled { _ = await task.result }
        await engine.shutDown()
        output.add("open_after", engine.openConnections)
        output.print()
    }
}
