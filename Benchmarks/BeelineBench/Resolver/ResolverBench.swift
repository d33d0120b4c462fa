// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import DirectHTTP
import HTTPDNS
import NIOCore
import NIOPosix
import Names

/// `beeline-bench resolver`: names that are not in the cache, then the same from the cache, and one line of JSON. With `--on-loop`
/// the asker lives on an event loop, as a server's requests do; with `--tasks-on-loops` all tasks of the process do. With
/// `--plain` questions travel in bodies and without padding, as other clients send them.
struct ResolverBench {
    private var mode = "doh"
    private var server = ""
    private var connect = ""
    private var rootFile: String?
    private var tag = "x"
    private var cold = 500
    private var cachedMilliseconds = 500
    private var cachedNames = 100
    private var isOnLoop = false
    private var method = DoHUpstream.Method.get
    private var isPadded = true

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--on-loop" {
                isOnLoop = true
                continue
            }
            if option == "--tasks-on-loops" {
                NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
                continue
            }
            if option == "--plain" {
                (method, isPadded) = (.post, false)
                continue
            }
            let value = rest.popFirst() ?? ""
            switch option {
            case "--mode": mode = value
            case "--server": server = value
            case "--connect": connect = value
            case "--cafile": rootFile = value
            case "--tag": tag = value
            case "--cold": cold = Int(value) ?? cold
            case "--cached-ms": cachedMilliseconds = Int(value) ?? cachedMilliseconds
            case "--cached-names": cachedNames = Int(value) ?? cachedNames
            case "--http-port": break
            default: throw BenchError(message: "unknown option \(option)")
            }
        }
    }

    func run() async throws {
        if isOnLoop, #available(macOS 15, *) {
            let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.singleton.any())
            try await withTaskExecutorPreference(executor) { try await measure() }
        } else {
            try await measure()
        }
    }

    @concurrent
    private func measure() async throws {
        let engine = Engine()
        var configuration = ResolverConfiguration(upstreams: [try upstream(engine)], system: nil)
        // The upstream of the comparison answers with an address of this machine.
        configuration.check.allowsLocalAnswers = true
        let resolver = Resolver(configuration)
        var hosts: [Host] = []
        for index in 0...max(cold, cachedNames) { hosts.append(try Host("\(tag)\(index).bench.test")) }

        let clock = ContinuousClock()
        var times: [Double] = []
        var first = 0.0
        var errors = 0
        let startCPU = ProcessTime.microseconds()
        for index in 0...cold {
            let start = clock.now
            do {
                _ = try await resolver.resolve(hosts[index], families: .v4)
                let time = Double((clock.now - start).nanoseconds) / 1_000
                if index == 0 { first = time } else { times.append(time) }
            } catch {
                if errors == 0 { BenchOutput.note("\(error)") }
                errors += 1
            }
        }
        let coldCPU = Double(ProcessTime.microseconds() - startCPU) / Double(cold + 1)
        times.sort()

        var output = BenchOutput()
        output.add("engine", "beeline-\(mode)")
        output.add("cold", times.count)
        output.add("errors", errors)
        output.add("first_us", first)
        if !times.isEmpty {
            output.add("cold_us50", times[times.count / 2])
            output.add("cold_us99", times[times.count * 99 / 100])
            output.add("cold_us_mean", times.reduce(0, +) / Double(times.count))
        }
        output.add("cold_cpu_us", coldCPU)
        let cached = CachedLookUps(resolver: resolver, hosts: Array(hosts[..<cachedNames]), families: .v4)
        let result = cached.run(for: .milliseconds(cachedMilliseconds))
        output.add("cached_per_s", result.perSecond)
        output.add("cached_cpu_ns", result.nanosecondsOfCPU)
        output.add("cached_missing", result.missing)
        output.add("rss_peak_kb", ProcessMemory.kibibytes("VmHWM"))
        output.print()
        await resolver.shutDown()
        await engine.shutDown()
    }

    private func upstream(_ engine: Engine) throws -> any Upstream {
        var tls = TLSSettings()
        tls.trustsSystemRoots = false
        tls.rootFiles = [rootFile].compactMap { $0 }
        let transport = EngineTransport(engine: engine, tls: tls)
        let endpoint = try Endpoint(parsing: connect, defaultPort: 443)
        switch mode {
        case "doh":
            return try DoHUpstream(
                try HTTPURL(server),
                at: [endpoint.address],
                method: method,
                isPadded: isPadded,
                transport: transport
            )
        case "httpdns": return DNSPodUpstream(at: [endpoint], transport: transport)
        default: throw BenchError(message: "modes are doh and httpdns")
        }
    }
}
