// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Testing

@testable import DirectHTTP
@testable import HTTPWire

/// The result of the peer's frames: events, our resets, and the error that ends the connection.
struct HTTP2Outcome: Equatable {
    var events: [String] = []
    /// RST_STREAM by stream.
    var resets: [UInt32: HTTP2ErrorCode] = [:]
    var error: HTTP2ErrorCode?
}

struct HTTP2Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let role: HTTP2Connection.Role
    let frames: [RawFrame]
    let events: [String]
    var resets: [UInt32: HTTP2ErrorCode] = [:]
    var error: HTTP2ErrorCode?
}

extension HTTP2Row {
    init(
        _ description: String,
        frames: [RawFrame],
        events: [String] = [],
        resets: [UInt32: HTTP2ErrorCode] = [:],
        error: HTTP2ErrorCode? = nil,
        role: HTTP2Connection.Role = .server
    ) {
        self.init(
            testDescription: description,
            role: role,
            frames: frames,
            events: events,
            resets: resets,
            error: error
        )
    }

    init(_ description: String, _ frames: [RawFrame], resets: [UInt32: HTTP2ErrorCode]) {
        self.init(description, frames: frames, events: [], resets: resets)
    }
}

/// The frames of a suite of rules, and the connection that they go through.
protocol HTTP2RuleSuite {}

extension HTTP2RuleSuite {
    typealias Row = HTTP2Row

    static var get: [(String, String)] {
        [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a.test")]
    }

    static func request(_ id: UInt32, _ more: [(String, String)] = [], ends: Bool = true) -> RawFrame {
        .headers(get + more, stream: id, flags: ends ? 5 : 4)
    }

    static func response(_ more: [(String, String)] = [], status: String = "200", ends: Bool = false) -> RawFrame {
        .headers([(":status", status)] + more, stream: 1, flags: ends ? 5 : 4)
    }

    static func data(_ count: Int = 1, stream: UInt32 = 1, ends: Bool = false) -> RawFrame {
        RawFrame(.data, flags: ends ? 1 : 0, stream: stream, payload: [UInt8](repeating: 65, count: count))
    }

    static func window(_ increment: UInt32, stream: UInt32) -> RawFrame {
        RawFrame(.windowUpdate, stream: stream, payload: RawFrame.big(increment))
    }

    static var reset: RawFrame { RawFrame(.reset, stream: 1, payload: RawFrame.big(8)) }

    /// More fields than the default limit of a block.
    static var manyFields: [(String, String)] { (0..<200).map { ("x-\($0)", "y") } }

    func check(_ row: HTTP2Row) {
        let outcome = Self.run(row)
        #expect(outcome.events == row.events)
        #expect(outcome.resets == row.resets)
        #expect(outcome.error == row.error)
    }

    /// Runs frames through a connection and returns its events and the error that ended it.
    static func events(
        _ role: HTTP2Connection.Role,
        _ frames: [RawFrame],
        reset: UInt32? = nil
    ) -> ([HTTP2Connection.Event], HTTP2ErrorCode?) {
        var connection = HTTP2Connection(role: role, limits: .init())
        if role == .client {
            for _ in 0..<2 {
                var block = ByteBuffer(bytes: [0x82])
                _ = connection.open(&block, endStream: true, mayHaveBody: true)
            }
        }
        if let reset { connection.reset(reset, .cancel) }
        var events: [HTTP2Connection.Event] = []
        do throws(HTTP2ConnectionError) {
            let start = (role == .server ? RawFrame.preface : []) + RawFrame(.settings).bytes
            try connection.feed(ByteBuffer(bytes: start + frames.flatMap(\.bytes)))
            while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                events.append(event)
            }
        } catch {
            return (events, error.code)
        }
        return (events, nil)
    }

    static func run(_ row: HTTP2Row) -> HTTP2Outcome {
        var limits = HTTP2Connection.Limits()
        limits.streams = 2
        limits.streamWindow = 100
        var connection = HTTP2Connection(role: row.role, limits: limits)
        if row.role == .client {
            var block = ByteBuffer(bytes: [0x82])
            _ = connection.open(&block, endStream: true, mayHaveBody: true)
        }
        connection.out.clear()
        var outcome = HTTP2Outcome()
        do throws(HTTP2ConnectionError) {
            let start = (row.role == .server ? RawFrame.preface : []) + RawFrame(.settings).bytes
            try connection.feed(ByteBuffer(bytes: start + row.frames.flatMap(\.bytes)))
            while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                outcome.events.append(text(event))
            }
        } catch {
            outcome.error = error.code
        }
        while let (first, _, stream) = connection.out.readMultipleIntegers(as: (UInt32, UInt8, UInt32).self) {
            guard let payload = connection.out.readSlice(length: Int(first >> 8)) else { break }
            guard first & 0xff == 3, let code = payload.getInteger(at: payload.readerIndex, as: UInt32.self) else {
                continue
            }
            outcome.resets[stream] = HTTP2ErrorCode(rawValue: code)
        }
        return outcome
    }

    static func text(_ event: HTTP2Connection.Event) -> String {
        switch event {
        case .head(let id, let head, let ends):
            "head \(id)\(head.status.map { " \($0)" } ?? "")\(ends ? " end" : "")"
        case .informational(let id, let head): "informational \(id) \(head.status ?? 0)"
        case .trailers(let id, _): "trailers \(id)"
        case .data(let id, let piece, let ends): "data \(id) \(piece.readableBytes)\(ends ? " end" : "")"
        case .reset(let id, _): "reset \(id)"
        case .failed(let id, _): "failed \(id)"
        case .malformedTrailers(let id, _): "malformedTrailers \(id)"
        case .tooLarge(let id, _): "tooLarge \(id)"
        case .window(let id): "window \(id)"
        case .goAway(let last, _): "goAway \(last)"
        case .capacity(let count): "capacity \(count)"
        }
    }
}
