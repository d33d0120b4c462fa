// SPDX-License-Identifier: Apache-2.0

import Beeline
import BenchSupport
import DirectHTTP
import NIOCore
import NIOPosix
import Names

/// `beeline-bench client`: the same request again and again, a number at a time, and one line of JSON.
///
/// `--layer engine` (default) calls ``Engine/exchange(_:from:route:tls:limits:)`` with a request made for each exchange,
/// `--layer client` calls ``BeelineClient/get(_:fields:options:)`` with the URL's text, cookies and all. Callers are ordinary
/// tasks; with `--on-loop` they are tasks that prefer the event loop which carries their connections, and with
/// `--tasks-on-loops` all ordinary tasks of the process run on event loops. `--no-sessions` does without TLS resumption.
struct ClientBench {
    private var url = ""
    private var connect = ""
    private var rootFile: String?
    private var version = 1
    private var concurrency = 1
    private var milliseconds = 2_000
    private var closes = false
    private var layer = "engine"
    private var isOnLoop = false
    private var areTasksOnLoops = false
    private var resumesSessions = true
    private var loops = 1

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--close":
                closes = true
                continue
            case "--on-loop":
                isOnLoop = true
                continue
            case "--tasks-on-loops":
                areTasksOnLoops = true
                continue
            case "--no-sessions":
                resumesSessions = false
                continue
            default:
                break
            }
            let value = rest.popFirst() ?? ""
            switch option {
            case "--url": url = value
            case "--connect": connect = value
            case "--cafile": rootFile = value
            case "--http": version = Int(value) ?? version
            case "--conc": concurrency = Int(value) ?? concurrency
            case "--ms": milliseconds = Int(value) ?? milliseconds
            case "--layer": layer = value
            case "--loops": loops = Int(value) ?? loops
            default: throw BenchError(message: "unknown option \(option)")
            }
        }
    }

    func run() async throws {
        // One loop, as the peers have: it must be said before the process's loops are made.
        NIOSingletons.groupLoopCountSuggestion = loops
        if areTasksOnLoops {
            NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
        }
        let caller = try makeCaller()
        _ = try await caller.get()

        let start = NIODeadline.now()
        let end = start + .milliseconds(Int64(milliseconds))
        let startCPU = ProcessTime.microseconds()
        var all = await withTaskGroup(of: ClientTally.self) { tasks in
            for _ in 0..<concurrency {
                if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *), isOnLoop {
                    let executor = EventLoopTaskExecutor(MultiThreadedEventLoopGroup.singleton.next())
                    tasks.addTask(executorPreference: executor) { await ClientTally.fill(from: caller, until: end) }
                } else {
                    tasks.addTask { await ClientTally.fill(from: caller, until: end) }
                }
            }
            var all = ClientTally()
            for await tally in tasks { all.add(tally) }
            return all
        }
        let cpu = ProcessTime.microseconds() - startCPU
        let nanoseconds = (NIODeadline.now() - start).nanoseconds
        all.microseconds.sort()

        var output = BenchOutput()
        output.add("engine", "beeline-\(layer)\(isOnLoop ? "-on-loop" : "")")
        output.add("version", BeelineClient.version)
        output.add("requests", all.microseconds.count)
        output.add("errors", all.errors)
        output.add("bytes", all.bytes)
        output.add("secs", Double(nanoseconds) / 1e9, digits: 6)
        output.add("cpu_s", Double(cpu) / 1e6, digits: 6)
        output.add("p50_us", all.percentile(50))
        output.add("p99_us", all.percentile(99))
        output.add("new_conns", all.newConnections)
        output.add("rss_peak_kb", ProcessMemory.kibibytes("VmHWM"))
        output.print()
        await caller.shutDown()
    }

    private func makeCaller() throws -> any ClientCaller {
        let url = try HTTPURL(url)
        let endpoint = try Endpoint(parsing: connect, defaultPort: url.origin.port)
        var tls = TLSSettings()
        tls.offersHTTP2 = version == 2
        tls.resumesSessions = resumesSessions
        if let rootFile {
            tls.trustsSystemRoots = false
            tls.rootFiles = [rootFile]
        }
        var configuration = EngineConfiguration()
        configuration.connectionsPerOrigin = max(configuration.connectionsPerOrigin, concurrency)
        if closes { configuration.maxIdleConnections = 0 }
        switch layer {
        case "engine":
            return EngineCaller(url, endpoints: EndpointList([endpoint]), tls: tls, configuration: configuration)
        case "client":
            return try BeelineCaller(self.url, origin: url.origin, endpoint: endpoint, tls: tls, engine: configuration)
        default: throw BenchError(message: "layers are engine and client")
        }
    }
}
