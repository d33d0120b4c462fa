// SPDX-License-Identifier: Apache-2.0

import Beeline
import BenchSupport
import DirectHTTP
import NIOCore
import Names

/// `beeline-bench bulk`: one large body, taken piece by piece, and one line of JSON.
struct BulkBench {
    private let arguments: EngineArguments

    init(_ arguments: [String]) throws { self.arguments = try EngineArguments(arguments) }

    /// Not on the main actor, where this program begins: the reader is an ordinary task.
    @concurrent func run() async throws {
        let engine = Engine()
        let endpoint = try Endpoint(parsing: arguments.connect, defaultPort: nil)
        let request = try PreparedRequest(.get, HTTPURL(arguments.url))
        let base = ProcessMemory.kibibytes("VmRSS")
        let start = NIODeadline.now()
        let startCPU = ProcessTime.microseconds()
        let response = try await engine.exchange(request, from: EndpointList([endpoint]), tls: arguments.tls)
        var bytes = 0
        for try await piece in response.body { bytes += piece.readableBytes }
        let seconds = Double((NIODeadline.now() - start).nanoseconds) / 1e9
        var output = BenchOutput()
        output.add("bench", "bulk")
        output.add("version", BeelineClient.version)
        output.add("protocol", response.connection.applicationProtocol)
        output.add("bytes", bytes)
        output.add("secs", seconds, digits: 3)
        output.add("mib_per_s", Double(bytes) / seconds / 1_048_576)
        output.add("cpu_s", Double(ProcessTime.microseconds() - startCPU) / 1e6, digits: 3)
        // What the program takes before it has done anything, its libraries for the most part.
        output.add("rss_base_kb", base)
        output.add("rss_peak_kb", ProcessMemory.kibibytes("VmHWM"))
        output.print()
        await engine.shutDown()
    }
}
