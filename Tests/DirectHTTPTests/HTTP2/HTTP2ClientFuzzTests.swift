// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import NIOCore
import Testing

@testable import HTTPWire

@Suite("The bytes of a hostile HTTP/2 server")
struct HTTP2ClientFuzzTests {
    private struct Outcome {
        /// The events other than DATA, whose pieces depend on how the bytes arrive.
        var events: [String] = []
        var heads: [UInt32] = []
        var dataBytes = 0
        var isBroken = false
    }

    /// Two requests, one with a body that is larger than the window, and the server's bytes in pieces.
    private static func run(_ bytes: [UInt8], piece: Int) -> Outcome {
        var connection = HTTP2Connection(role: .client, limits: .init())
        for hasBody in [false, true] {
            var block = ByteBuffer(bytes: [0x82])
            let id = connection.open(&block, endStream: !hasBody, mayHaveBody: true)
            if hasBody { connection.send(ByteBuffer(repeating: 65, count: 100_000), on: id, isLast: true) }
        }
        while connection.writeNextFrame() != nil {}
        var outcome = Outcome()
        do throws(HTTP2ConnectionError) {
            var rest = bytes[...]
            while !rest.isEmpty {
                try connection.feed(ByteBuffer(bytes: rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try connection.next(now: .uptimeNanoseconds(1)) { take(event, &outcome) }
            }
        } catch {
            outcome.isBroken = true
        }
        while connection.writeNextFrame() != nil {}
        return outcome
    }

    private static func take(_ event: HTTP2Connection.Event, _ outcome: inout Outcome) {
        switch event {
        case .head(let id, let head, _):
            outcome.heads.append(id)
            outcome.events.append("head \(id) \(head.status ?? 0)")
        case .data(_, let piece, _): outcome.dataBytes += piece.readableBytes
        case .informational(let id, let head): outcome.events.append("informational \(id) \(head.status ?? 0)")
        case .trailers(let id, _): outcome.events.append("trailers \(id)")
        case .reset(let id, _): outcome.events.append("reset \(id)")
        case .failed(let id, _): outcome.events.append("failed \(id)")
        case .malformedTrailers(let id, _): outcome.events.append("malformedTrailers \(id)")
        case .tooLarge(let id, _): outcome.events.append("tooLarge \(id)")
        case .window(let id): outcome.events.append("window \(id)")
        case .goAway(let last, _): outcome.events.append("goAway \(last)")
        case .capacity(let count): outcome.events.append("capacity \(count)")
        }
    }

    @Test("no bytes make the client trap, give a stream two heads, or add DATA that was not sent")
    func fuzz() {
        let settings = RawFrame(.settings).bytes
        let head = RawFrame.headers([(":status", "200"), ("content-length", "3")], stream: 1).bytes
        let seeds = [
            settings + head + RawFrame(.data, flags: 1, stream: 1, payload: [1, 2, 3]).bytes,
            settings + RawFrame.headers([(":status", "103")], stream: 3).bytes
                + RawFrame.headers([(":status", "404")], stream: 3).bytes
                + RawFrame.headers([("x", "y")], stream: 3, flags: 5).bytes,
            settings + head + RawFrame(.goAway, payload: RawFrame.big(1) + RawFrame.big(0)).bytes
                + RawFrame(.reset, stream: 3, payload: RawFrame.big(8)).bytes,
            settings + RawFrame.settings([(3, 1), (4, 70_000), (5, 20_000)]).bytes
                + RawFrame(.windowUpdate, stream: 3, payload: RawFrame.big(9)).bytes
                + RawFrame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]).bytes,
        ]
        var random = SeededRandom(seed: 9_113)
        for round in 0..<FuzzRounds.count(ordinary: 10_000) {
            var bytes = seeds[round % seeds.count]
            // The first of each seed's rounds changes nothing.
            for _ in 0..<(round < seeds.count ? 0 : Int.random(in: 1...6, using: &random)) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[index] = UInt8.random(in: 0...255, using: &random)
                } else {
                    bytes.remove(at: index)
                }
            }
            let whole = Self.run(bytes, piece: .max)
            let pieces = Self.run(bytes, piece: 1 + round % 7)
            for outcome in [whole, pieces] {
                #expect(Set(outcome.heads).count == outcome.heads.count, "\(bytes)")
                #expect(outcome.dataBytes <= bytes.count, "\(bytes)")
            }
            if round < seeds.count { #expect(!whole.isBroken && whole.events.count > 0, "\(bytes)") }
            // Which frames are read before an error depends on how the bytes arrive.
            if !whole.isBroken, !pieces.isBroken { #expect(whole.events == pieces.events, "\(bytes)") }
        }
    }
}
