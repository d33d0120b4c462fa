// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import BeelineURLSession
import BenchSupport
import Foundation
import NIOCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What `BeelineURLProtocol` costs beside the client alone, how much of that is Foundation's own, and how much memory a long stream
/// takes. Server and client are
/// one process, on loopback.
///
///     beeline-session-bench --requests 2000 --mebibytes 1024
///
/// It is a program of its own, for full Foundation adds 14 MB to each program that brings it.
@main
struct SessionBench {
    private var requests = 2000
    private var mebibytes = 1024

    init(_ arguments: [String]) {
        for (name, value) in zip(arguments, arguments.dropFirst()) {
            if name == "--requests" { requests = Int(value) ?? requests }
            if name == "--mebibytes" { mebibytes = Int(value) ?? mebibytes }
        }
    }

    static func main() async throws {
        try await SessionBench(Array(CommandLine.arguments.dropFirst())).run()
    }

    func run() async throws {
        let origin = try await LoopbackOrigin.start { request in
            request.method == .post
                ? .text("\(request.bodySize)") : Reply(body: [.zeros(Int(request.query["bytes"] ?? "") ?? 0)])
        }
        var configuration = ClientConfiguration()
        configuration.upstreams = []
        configuration.proxies = .none
        configuration.pinned = [.init(try Names.Host("bench.test")): [IPAddress(v4: 0x7f00_0001)]]
        let client = try BeelineClient(configuration)
        let text = "http://bench.test:\(origin.port)/?bytes=1024"
        guard let url = URL(string: text) else { return }
        let session = URLSession(configuration: .beeline(client, base: .ephemeral))
        let floor = URLSessionConfiguration.ephemeral
        floor.protocolClasses = [ReadyProtocol.self]
        let ready = URLSession(configuration: floor)
        floor.urlCache = nil
        let uncached = URLSession(configuration: floor)
        var output = BenchOutput()
        var own: [Double] = []
        var carried: [Double] = []
        var foundation: [Double] = []
        var withoutCache: [Double] = []
        // Turn by turn, so that all see the same machine.
        for round in 0..<(requests + 200) {
            let first = try await microseconds { _ = try await client.get(text).collect(upTo: 1 << 20) }
            let second = try await microseconds { _ = try await session.data(from: url) }
            let third = try await microseconds { _ = try await ready.data(from: url) }
            let fourth = try await microseconds { _ = try await uncached.data(from: url) }
            if round >= 200 {
                withoutCache.append(fourth)
                foundation.append(third)
                own.append(first)
                carried.append(second)
            }
        }
        output.add("client_us", median(own))
        output.add("session_us", median(carried))
        output.add("overhead_us", median(carried) - median(own))
        output.add("foundation_us", median(foundation))
        output.add("foundation_without_cache_us", median(withoutCache))
        output.add("rss_kib", ProcessMemory.kibibytes("VmRSS"))
        try await down(client, origin.port)
        output.add("peak_after_down_kib", ProcessMemory.kibibytes("VmHWM"))
        try await up(client, origin.port)
        output.add("peak_after_up_kib", ProcessMemory.kibibytes("VmHWM"))
        output.print()
        await client.shutDown()
        await origin.stop()
    }

    private func down(_ client: BeelineClient, _ port: UInt16) async throws {
        guard let url = URL(string: "http://bench.test:\(port)/?bytes=\(mebibytes << 20)") else { return }
        let counter = Counter()
        let session = URLSession(
            configuration: .beeline(client, base: .ephemeral),
            delegate: counter,
            delegateQueue: nil
        )
        await counter.run(session.dataTask(with: url))
        guard counter.bytes == mebibytes << 20 else { return BenchOutput.note("\(counter.bytes) bytes came") }
    }

    private func up(_ client: BeelineClient, _ port: UInt16) async throws {
        guard let url = URL(string: "http://bench.test:\(port)/") else { return }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else { return }
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(mebibytes) << 20)
        try handle.close()
        let counter = Counter()
        let session = URLSession(
            configuration: .beeline(client, base: .ephemeral),
            delegate: counter,
            delegateQueue: nil
        )
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(fileAtPath: file.path)
        await counter.run(session.dataTask(with: request))
        guard counter.text == "\(mebibytes << 20)" else { return BenchOutput.note("the server had \(counter.text)") }
    }

    private func microseconds(_ work: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await work()
        return Double(start.duration(to: .now).components.attoseconds) / 1e12
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

/// Has a response ready: what a task then takes is Foundation's own.
private final class ReadyProtocol: URLProtocol {
    private static let body = Data(repeating: 0, count: 1024)

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func stopLoading() {}

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Self.body)
        client?.urlProtocolDidFinishLoading(self)
    }
}

/// Counts what comes. `@unchecked Sendable`: URLSession calls it on one queue, and it is read when the task has ended.
private final class Counter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private(set) var bytes = 0
    private(set) var text = ""
    private var continuation: CheckedContinuation<Void, Never>?

    func run(_ task: URLSessionTask) async {
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes += data.count
        if bytes < 100 { text += String(decoding: data, as: UTF8.self) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { BenchOutput.note("\(error)") }
        continuation?.resume()
    }
}
