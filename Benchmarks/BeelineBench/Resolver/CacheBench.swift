// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import HTTPDNS
import Names

/// `beeline-bench cache --names N --threads T --ms MS`: how fast names come out of a full cache, and what they weigh.
struct CacheBench {
    private var names = 100
    private var threads = 1
    private var milliseconds = 1_000

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            let value = rest.popFirst().flatMap { Int($0) } ?? 0
            switch option {
            case "--names": names = max(1, value)
            case "--threads": threads = max(1, value)
            case "--ms": milliseconds = value
            default: throw BenchError(message: "unknown option \(option)")
            }
        }
    }

    func run() async throws {
        let base = ProcessMemory.kibibytes("VmRSS")
        var configuration = ResolverConfiguration(upstreams: [Table()], system: nil)
        configuration.cache.maxNames = max(configuration.cache.maxNames, names + names / 4)
        configuration.cache.maxBytes = .max
        configuration.limits.prefetchWidth = 64
        let resolver = Resolver(configuration)
        for index in 0..<names { _ = try await resolver.resolve(try Self.host(index), families: .v4) }
        let filled = ProcessMemory.kibibytes("VmRSS")
        let kept = resolver.cachedNames
        // A sample of the names, so that they themselves do not count.
        let sample = min(names, 100_000)
        var hosts: [Host] = []
        for index in 0..<sample { hosts.append(try Self.host(index * (names / sample))) }
        let lookUps = CachedLookUps(resolver: resolver, hosts: hosts, families: .v4)
        let duration = Duration.milliseconds(milliseconds)
        let startCPU = ProcessTime.microseconds()
        let results = await withTaskGroup(of: CachedLookUps.Result.self) { group in
            for thread in 0..<threads {
                group.addTask { lookUps.run(for: duration, from: Double(thread) / Double(threads)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let spent = Double(ProcessTime.microseconds() - startCPU) * 1_000
        var output = BenchOutput()
        output.add("names", kept)
        output.add("threads", threads)
        output.add("cached_per_s", results.reduce(0) { $0 + $1.perSecond })
        output.add("cached_cpu_ns", spent / Double(results.reduce(0) { $0 + $1.done }))
        output.add("cached_missing", results.reduce(0) { $0 + $1.missing })
        output.add("rss_fill_mib", Double(filled - base) / 1_024)
        output.add("octets_a_name", Double(filled - base) * 1_024 / Double(kept))
        output.add("rss_peak_mib", Double(ProcessMemory.kibibytes("VmHWM")) / 1_024)
        output.print()
        await resolver.shutDown()
    }

    private static func host(_ index: Int) throws -> Host { try Host("host\(index).cache.bench.test") }

    /// Knows an address for every name.
    private struct Table: Upstream {
        let name = "table"

        func answer(_ question: Question) async throws(UpstreamError) -> Answer {
            let bits = question.host.text.utf8.reduce(UInt32(5_381)) { $0 &* 33 &+ UInt32($1) }
            return Answer(v4: .addresses([IPAddress(v4: 0x0a00_0000 | bits & 0xffffff)], ttl: .seconds(3_600)))
        }
    }
}
