// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import NIOConcurrencyHelpers
import NIOCore
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One engine sends requests to faults of every kind and cancels some at random moments. No resource may grow.
///
/// `BEELINE_SOAK=60` runs for a minute and also checks memory; by default it sends a few hundred requests.
@Suite("Soak", .timeLimit(.minutes(10)), .serialized)
struct SoakTests {
    /// Counts operations that began, and those that have not ended.
    final class Counter: Sendable {
        private let state = NIOLockedValueBox((begun: 0, open: 0))

        var begun: Int { state.withLockedValue { $0.begun } }
        var open: Int { state.withLockedValue { $0.open } }

        func begin() {
            state.withLockedValue { state in
                state.begun += 1
                state.open += 1
            }
        }

        func end() { state.withLockedValue { $0.open -= 1 } }
    }

    /// Returns an endpoint, and counts the lookups that have not ended.
    struct Counting: EndpointSource {
        let endpoint: Endpoint
        let questions: Counter

        func endpoints(for origin: Origin) async throws -> EndpointList {
            questions.begin()
            defer { questions.end() }
            await Task.yield()
            return EndpointList([endpoint])
        }
    }

    /// A streamed body that counts its readers.
    struct Pieces: AsyncSequence, Sendable {
        let uploads: Counter

        struct AsyncIterator: AsyncIteratorProtocol {
            final class Reader {
                let uploads: Counter
                var given = 0

                init(_ uploads: Counter) {
                    self.uploads = uploads
                    uploads.begin()
                }

                deinit { uploads.end() }
            }

            let reader: Reader

            mutating func next() async throws -> ByteBuffer? {
                reader.given += 1
                return reader.given <= 20 ? ByteBuffer(repeating: 1, count: 1000) : nil
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: AsyncIterator.Reader(uploads)) }
    }

    /// Faults that end by themselves or by a limit of a few milliseconds, and send no gigabytes.
    private static let faults = Fault.all.filter { fault in
        fault.layer != .webSocket && fault.layer != .tls && fault.outcome != .limit && fault.outcome != .connectTimeout
            && fault.outcome != .handshakeTimeout
    }

    private static var seconds: Int? { ProcessInfo.processInfo.environment["BEELINE_SOAK"].flatMap { Int($0) } }

    @Test("thousands of faults and cancellations leave no descriptor, no task and no memory behind")
    func flat() async throws {
        let lab = try await FaultLab(Self.faults)
        let (questions, uploads, requests) = (Counter(), Counter(), Counter())
        let round = { @Sendable (lane: Int, number: Int) in
            var random = SeededRandom(seed: UInt64(lane) << 32 | UInt64(number))
            requests.begin()
            defer { requests.end() }
            try await Self.ask(lab, questions: questions, uploads: uploads, random: &random)
        }
        var memory: [Int] = []
        let begin = ContinuousClock.now
        var block = 0
        repeat {
            let first = block * 40
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for lane in 0..<8 {
                    tasks.addTask { for number in first..<first + 40 { try await round(lane, number) } }
                }
                try await tasks.waitForAll()
            }
            block += 1
            memory.append(ProcessUsage.now.residentBytes ?? 0)
        } while begin.duration(to: .now) < .seconds(Self.seconds ?? 0)

        #expect(try await lab.good(.engine) == "good")
        lab.engine.closeIdle()
        try await eventually("\(lab.server.openConnections) connections to close", within: .seconds(10)) {
            lab.server.openConnections == 0 && lab.engine.openConnections == 0 && uploads.open == 0
        }
        #expect(OpenDescriptors.sockets(connectedTo: lab.server.endpoints) == 0)
        #expect(questions.open == 0 && requests.open == 0, "no question and no request is under way")
        if Self.seconds != nil {
            // The first quarter warms up the allocator, the certificates and the event loops.
            let warm = memory[memory.count / 4]
            let last = memory[memory.count - 1]
            print(
                "soak: \(requests.begun) requests, \(uploads.begun) uploads, resident \(warm >> 20) → \(last >> 20) MiB"
            )
            #expect(last - warm < 24 << 20)
        }
        await lab.stop()
    }

    /// Sends a request to a random fault by a random method, and may cancel it.
    private static func ask(
        _ lab: FaultLab,
        questions: Counter,
        uploads: Counter,
        random: inout SeededRandom
    ) async throws {
        let fault = faults[Int.random(in: 0..<faults.count, using: &random)]
        let endpoint = try lab.server.endpoint(of: fault.id)
        let scheme = fault.layer == .http2 ? "https" : "http"
        let url = try HTTPURL("\(scheme)://\(FaultServer.name):\(endpoint.port)/")
        let isUpload = Int.random(in: 0..<3, using: &random) == 0
        let body: RequestBody = isUpload ? .stream(length: nil) { Pieces(uploads: uploads) } : .none
        let request = try PreparedRequest(isUpload ? .post : .get, url, body: body)
        var limits = TimeLimits()
        if fault.outcome == .timeout || isUpload {
            limits.total = .milliseconds(Int.random(in: 1...20, using: &random))
        }
        let yields = Int.random(in: 0..<200, using: &random)
        let cancels = Int.random(in: 0..<4, using: &random) == 0
        let task = Task { [limits] in
            let response = try await lab.engine.exchange(
                request,
                from: Counting(endpoint: endpoint, questions: questions),
                tls: lab.tls,
                limits: limits
            )
            _ = try await response.body.collect(upTo: 1 << 16)
        }
        if cancels {
            for _ in 0..<yields { await Task.yield() }
            task.cancel()
        }
        // `FaultTests` checks the outcome. Here the request only has to end.
        _ = await task.result
    }
}
