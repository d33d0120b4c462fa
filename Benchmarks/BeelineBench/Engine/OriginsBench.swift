// SPDX-License-Identifier: Apache-2.0

import Beeline
import BenchSupport
import DirectHTTP
import NIOCore
import Names

/// `beeline-bench origins`: a request to each of many origins at one address, every connection kept, and what the pool
/// takes of memory then.
struct OriginsBench {
    private let arguments: EngineArguments

    init(_ arguments: [String]) throws { self.arguments = try EngineArguments(arguments) }

    func run() async throws {
        DescriptorLimit.raise()
        var configuration = EngineConfiguration()
        configuration.maxIdleConnections = arguments.count
        configuration.keepIdle = .seconds(600)
        let engine = Engine(configuration: configuration)
        let url = try HTTPURL(arguments.url)
        let endpoints = EndpointList([try Endpoint(parsing: arguments.connect, defaultPort: nil)])
        let before = ProcessMemory.kibibytes("VmRSS")
        let start = NIODeadline.now()
        let startCPU = ProcessTime.microseconds()
        let (scheme, port, tls, count) = (url.origin.scheme.name, url.origin.port, arguments.tls, arguments.count)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for lane in 0..<32 {
                tasks.addTask {
                    for index in stride(from: lane, to: count, by: 32) {
                        let url = try HTTPURL("\(scheme)://o\(index).bench.test:\(port)/")
                        let response = try await engine.exchange(PreparedRequest(.get, url), from: endpoints, tls: tls)
                        _ = try await response.body.collect(upTo: 1 << 20)
                    }
                }
            }
            try await tasks.waitForAll()
        }
        let seconds = Double((NIODeadline.now() - start).nanoseconds) / 1e9
        let cpu = ProcessTime.microseconds() - startCPU
        let now = ProcessMemory.kibibytes("VmRSS")
        var output = BenchOutput()
        output.add("bench", "origins")
        output.add("version", BeelineClient.version)
        output.add("origins", arguments.count)
        output.add("connections", engine.openConnections)
        output.add("secs", seconds, digits: 3)
        output.add("cpu_us_each", Double(cpu) / Double(arguments.count))
        output.add("rss_kb", now)
        output.add("rss_kb_each", Double(now - before) / Double(arguments.count))
        output.add("rss_peak_kb", ProcessMemory.kibibytes("VmHWM"))
        output.print()
        await engine.shutDown()
    }
}
