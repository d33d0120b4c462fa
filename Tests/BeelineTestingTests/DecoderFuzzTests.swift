// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import Names
import Testing

@testable import BeelineTesting

/// The test doubles read arbitrary bytes from the code under test. No input traps, and a decoded value that is encoded
/// decodes to the same value.
@Suite(.timeLimit(.minutes(60))) struct DecoderFuzzTests {
    /// The number of inputs for each decoder; BEELINE_FUZZ raises it.
    let count = FuzzRounds.count(ordinary: 20_000)

    @Test func queries() {
        let seeds: [[UInt8]] = [
            [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3] + Array("www".utf8) + [1, 97, 0, 0, 1, 0, 1],
            [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 28, 0, 1],
        ]
        var mutator = Mutator(seeds: seeds)
        for _ in 0..<count {
            guard let query = TestDNSMessage.Query(mutator.next()) else { continue }
            var finding = Zone.Finding(name: query.name, ttl: 60)
            finding.addresses = [IPAddress(v4: 1)]
            let answer = DNSAnswer(query, finding).bytes
            #expect(Array(answer[12..<12 + query.question.count]) == query.question)
            // Without its flags QR, AA, TC and RA, an answer is a query.
            let again = TestDNSMessage.Query([answer[0], answer[1], 1, 0] + answer[4...])
            #expect(again?.name == query.name && again?.type == query.type && again?.id == query.id)
        }
    }

    @Test func webSocketFrames() async throws {
        let seeds = [
            RawWebSocketFrame(.text, Array("Hello".utf8), mask: [1, 2, 3, 4]).bytes,
            RawWebSocketFrame(.binary, [UInt8](repeating: 7, count: 300), isFinal: false, reserved: 4).bytes,
            RawWebSocketFrame.close(1000, "bye").bytes,
        ]
        try await fuzz(seeds) {
            try await $0.receiveWebSocketFrame(limit: 4096)
        } encode: {
            $0.bytes
        }
    }

    @Test func http2Frames() async throws {
        let seeds = [
            RawFrame.settings([(3, 100), (4, 65_535)]).bytes,
            RawFrame.headers([(":status", "200")], stream: 1).bytes,
            RawFrame(.windowUpdate, stream: 3, payload: RawFrame.big(1)).bytes,
        ]
        try await fuzz(seeds) { connection in
            // Unknown types have no separate values here, so they are skipped.
            try await connection.receiveFrame().flatMap { $0.kind == nil ? nil : $0 }
        } encode: {
            $0.bytes
        }
    }

    @Test func requests() async throws {
        let seeds = [
            "POST /a?b=c%20d HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nCookie: a=1; b\r\n\r\nabc",
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n",
            "GET http://a.test:80/ HTTP/1.0\r\n\r\n",
        ].map { Array($0.utf8) }
        try await fuzz(seeds) { connection -> Essence? in
            guard let request = try await connection.receiveRequest(bodyLimit: 64) else { return nil }
            _ = (request.path, request.query, request.form, request.cookies, request.text)
            return Essence(request)
        } encode: {
            $0.bytes
        }
    }

    /// The parts of a request that must be preserved.
    private struct Essence: Hashable {
        let line: String
        let fields: [String]
        let body: [UInt8]

        init(_ request: ReceivedRequest) {
            line = "\(request.method.rawValue) \(request.target) \(request.version)"
            let framing: [HTTPField.Name] = [.contentLength, .transferEncoding]
            fields = request.fields.filter { !framing.contains($0.name) }.map { field in
                let value = field.withUnsafeBytesOfValue { String($0.map { Character(Unicode.Scalar($0)) }) }
                return "\(field.name.rawName): \(value)"
            }
            body = request.body
        }

        var bytes: [UInt8] {
            let head = ([line] + fields + ["Content-Length: \(body.count)", "", ""]).joined(separator: "\r\n")
            return head.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } + body
        }
    }

    private func fuzz<Value: Equatable>(
        _ seeds: [[UInt8]],
        decode: (RawConnection) async throws -> Value?,
        encode: (Value) -> [UInt8]
    ) async throws {
        var mutator = Mutator(seeds: seeds)
        let channel = NIOAsyncTestingChannel()
        var read = 0
        for _ in 0..<count {
            let bytes = mutator.next()
            guard let value = try? await decode(.reading(bytes, channel)) else { continue }
            let again = try await decode(.reading(encode(value), channel))
            #expect(again == value, "of the bytes \(bytes)")
            read += 1
        }
        // If most inputs were unreadable, the test would check nothing.
        #expect(read > count / 20)
        _ = try? await channel.finish()
    }
}

extension RawConnection {
    /// A connection that has received these bytes and then ended.
    fileprivate static func reading(_ bytes: [UInt8], _ channel: NIOAsyncTestingChannel) -> RawConnection {
        let inbox = Inbox<ByteBuffer>()
        inbox.push(ByteBuffer(bytes: bytes))
        inbox.finish()
        let nowhere = Endpoint(IPAddress(v4: 0), port: 0)
        let info = ReceivedRequest.Connection(number: 1, local: nowhere, remote: nowhere)
        return RawConnection(info: info, channel: channel, inbox: inbox)
    }
}

/// Seeds with a few bytes changed, inserted, removed or repeated, in the same sequence on every run.
private struct Mutator {
    let seeds: [[UInt8]]
    private var numbers = SeededRandom(seed: 1)

    init(seeds: [[UInt8]]) {
        self.seeds = seeds
    }

    mutating func next() -> [UInt8] {
        var bytes = seeds[random(seeds.count)]
        for _ in 0...random(4) {
            let index = random(bytes.count + 1)
            switch random(5) {
            case 0 where index < bytes.count: bytes[index] = UInt8(random(256))
            case 1: bytes.insert(UInt8(random(256)), at: index)
            case 2 where index < bytes.count: bytes.remove(at: index)
            case 3: bytes = Array(bytes[..<index])
            default: bytes += bytes[index...].prefix(random(40))
            }
        }
        return bytes
    }

    private mutating func random(_ bound: Int) -> Int { Int(numbers.next() % UInt64(max(1, bound))) }
}
