// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import LibC
import NIOCore
import NIOPosix
import Names
import Testing

@testable import DirectHTTP

@Suite("Fast, large bodies are read in bursts", .timeLimit(.minutes(1)))
struct BurstReadingTests {
    /// Bytes that arrive at a time, in milliseconds, and the number of bytes still expected.
    struct Arrival {
        var time: Int64
        var bytes: Int
        var rest: Int64? = 1 << 30
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var arrivals: [Arrival]
        var isOn: Bool
    }

    static let cases = [
        Case(
            testDescription: "a megabyte in a period is fast",
            arrivals: [
                Arrival(time: 1, bytes: BurstReading.threshold / 2),
                Arrival(time: 10, bytes: BurstReading.threshold / 2),
            ],
            isOn: true
        ),
        Case(
            testDescription: "a megabyte in more than a period is not fast",
            arrivals: [
                Arrival(time: 1, bytes: BurstReading.threshold / 2),
                Arrival(time: 12, bytes: BurstReading.threshold / 2),
            ],
            isOn: false
        ),
        Case(
            testDescription: "a period begins with the first bytes after the last period",
            arrivals: [
                Arrival(time: 1, bytes: BurstReading.smallest),
                Arrival(time: 500, bytes: BurstReading.threshold / 2),
                Arrival(time: 509, bytes: BurstReading.threshold / 2),
            ],
            isOn: true
        ),
        Case(
            testDescription: "a body of unknown length is never read in bursts, because its end might not be noticed",
            arrivals: [Arrival(time: 1, bytes: BurstReading.threshold, rest: nil)],
            isOn: false
        ),
        Case(
            testDescription: "a body that is nearly complete is not read in bursts",
            arrivals: [Arrival(time: 1, bytes: BurstReading.threshold, rest: 2 * Int64(BurstReading.size) - 1)],
            isOn: false
        ),
        Case(
            testDescription: "small reads do not make a body fast, even if there are many",
            arrivals: (0..<100).map { _ in Arrival(time: 1, bytes: BurstReading.smallest - 1) },
            isOn: false
        ),
        Case(
            testDescription: "the end of a fast body is read normally",
            arrivals: [
                Arrival(time: 1, bytes: BurstReading.threshold),
                Arrival(time: 2, bytes: 1, rest: 1000),
            ],
            isOn: false
        ),
    ]

    @Test(arguments: cases)
    func begins(_ testCase: Case) {
        var bursts = BurstReading()
        for arrival in testCase.arrivals {
            let now = NIODeadline.uptimeNanoseconds(UInt64(arrival.time) * 1_000_000)
            bursts.received(arrival.bytes, rest: arrival.rest, now: now)
        }
        #expect(bursts.isOn == testCase.isOn)
    }

    @Test("burst reading continues while each period brings enough bytes, and ends with the first that does not")
    func ends() {
        var bursts = BurstReading()
        let now = NIODeadline.uptimeNanoseconds(1_000_000)
        bursts.received(BurstReading.threshold, rest: 1 << 30, now: now)
        #expect(bursts.isOn)
        bursts.received(BurstReading.threshold, rest: 1 << 30, now: now)
        bursts.check()
        #expect(bursts.isOn)
        bursts.received(BurstReading.threshold - 1, rest: 1 << 30, now: now)
        bursts.check()
        #expect(!bursts.isOn)
    }

    @Test("burst reading raises the socket's low-water mark, and its end resets it")
    func socket() async throws {
        let origin = try await LoopbackOrigin.start { _ in .text("unused") }
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(to: SocketAddress(try #require(origin.endpoints.first))).get()
        let lowWater = ChannelOptions.socketOption(NIOBSDSocket.Option(rawValue: SO_RCVLOWAT))
        for (isOn, bytes) in [(true, BurstReading.size), (false, 1)] {
            try await channel.eventLoop.submit { SocketBursts.setBursts(isOn, on: channel) }.get()
            #expect(try await channel.getOption(lowWater).get() == .init(bytes))
        }
        try await channel.close()
        await origin.stop()
    }

    @Test(
        "a pause within a fast body does not delay the bytes that were sent",
        arguments: ["plain", "http/1.1", "h2"]
    )
    func pause(kind: String) async throws {
        let size = 16 << 20
        // Not a multiple of the burst's size.
        let first = size / 2 + 100_001
        let gate = Gate()
        let reply = Reply(body: [.zeros(first), .wait(gate), .zeros(size - first)])
        let lab = try await Lab(protocols: [kind]) { _ in reply }
        let plain = try await LoopbackOrigin.start { _ in reply }
        let (scheme, origin) = kind == "plain" ? ("http", plain) : ("https", lab.origin)
        let response = try await lab.engine.exchange(
            PreparedRequest(.get, HTTPURL("\(scheme)://a.test:\(origin.port)/")),
            from: EndpointList(origin.endpoints),
            tls: lab.tls
        )
        #expect(response.connection.applicationProtocol == (kind == "h2" ? "h2" : "http/1.1"))
        var count = 0
        for try await piece in response.body {
            count += piece.readableBytes
            if count == first { gate.open() }
        }
        #expect(count == size)
        await lab.stop()
        await plain.stop()
    }

    @Test("a small body does not retain TLS's large buffer", arguments: ["http/1.1", "h2"])
    func retention(kind: String) async throws {
        let lab = try await Lab(protocols: [kind]) { request in
            Reply(body: [.zeros(request.path == "/large" ? 4 << 20 : 1000)])
        }
        for (path, size) in [("/large", 4 << 20), ("/small", 1000)] {
            let body = try await lab.get("a.test", path).body.collect(upTo: 8 << 20)
            #expect(body.readableBytes == size)
            #expect(body.storageCapacity <= max(4096, 2 * size))
        }
        await lab.stop()
    }
}
