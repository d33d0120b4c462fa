// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOEmbedded
import Names

@testable import BeelineServer
@testable import DirectHTTP
@testable import HTTPWire

extension Fuzzer {
    /// Decoders of bytes from servers, proxies and HTTP/2 clients.
    static let http: [Fuzzer] = [
        Fuzzer(
            "http1-response",
            texts: [
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: 1\r\n\r\n",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 \r\nA:b\r\n c\r\n\r\n",
            ]
        ) { bytes in
            if response(bytes, piece: .max) != response(bytes, piece: 3) { violation("pieces change a response") }
        },
        Fuzzer(
            "http2-frames",
            seeds: [
                RawFrame(.settings).bytes + RawFrame.headers([(":status", "200")], stream: 1).bytes
                    + RawFrame(.data, flags: 9, stream: 1, payload: [1, 65, 0]).bytes,
                RawFrame.settings([(4, 100)]).bytes + RawFrame(.windowUpdate, stream: 1, payload: [0, 0, 0, 7]).bytes,
            ]
        ) { bytes in
            var reader = HTTP2FrameReader(maxBlock: 1_000)
            reader.feed(ByteBuffer(bytes: bytes))
            while try reader.next() != nil {}
        },
        Fuzzer("http2-server", seeds: [0, 1].map { serverSeed(body: $0) }) { bytes in
            let channel = EmbeddedChannel()
            defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
            let ends = ConnectionEnds(peer: IPAddress(v4: 1), trusting: [])
            let handler = HTTP2ServerHandler(ServerConfiguration(), ends: ends, maxBody: 100) { _, _ in nil }
            try channel.pipeline.syncOperations.addHandler(handler)
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            try channel.writeInbound(ByteBuffer(bytes: RawFrame.preface + bytes))
        },
        Fuzzer("http2-client", seeds: clientSeeds) { bytes in
            let (whole, pieces) = (clientEvents(bytes, piece: .max), clientEvents(bytes, piece: 7))
            // Which frames are read before an error depends on how the bytes arrive.
            if let whole, let pieces, whole != pieces { violation("pieces change a connection") }
        },
        Fuzzer("hpack", seeds: [[0x82, 0x86, 0x84, 0x41, 0x0f], [0x3f, 0xe1, 0x1f, 0x40, 1, 97, 0x81, 0xff]]) { bytes in
            var decoder = HPACKDecoder(maxListSize: 1 << 16, maxFields: 500)
            for _ in 0..<2 { try bytes.withUnsafeBytes { try decoder.decode($0) { _ in } } }
        },
        Fuzzer("inflate", seeds: [[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 4, 0, 0x43, 0xbe, 0xb7, 0xe8]]) { bytes in
            for coding in [ContentCoding.gzip, .deflate] { try decodeContent(bytes, coding) }
        },
        Fuzzer(
            "hsts",
            texts: [
                "max-age=\"31536000\"; includeSubDomains;x=y", ".a.test \"20301231 23:59:59\"\nb.test \"unlimited\"\n",
            ]
        ) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let policy = StrictTransportSecurity(fieldValue: text), policy.maxAge < 0 { violation("a negative age") }
            let entries = HSTSFile.read(text).entries
            if HSTSFile.read(HSTSFile.write(entries)).entries != entries { violation("a file is read differently") }
        },
        Fuzzer("brotli", seeds: [[11, 6, 128, 111, 110, 101, 32, 116, 119, 111, 32, 116, 104, 114, 101, 101, 3]]) {
            bytes in
            if let coding = ContentCoding("br") { try decodeContent(bytes, coding) }
        },
        Fuzzer("zstandard", seeds: [[40, 181, 47, 253, 0, 88, 33, 0, 0, 111, 110, 101, 32]]) { bytes in
            if let coding = ContentCoding("zstd") { try decodeContent(bytes, coding) }
        },
        Fuzzer(
            "websocket",
            seeds: [
                RawWebSocketFrame.close(1001, "away").bytes,
                RawWebSocketFrame(.text, [0xcb, 0x48, 0x04, 0x00], reserved: 4).bytes,
                RawWebSocketFrame(.binary, [UInt8](repeating: 7, count: 300), isFinal: false).bytes,
            ]
        ) { bytes in
            var decoder = WebSocketFrameDecoder(maxPayload: 1000, allowsCompression: true)
            var assembler = WebSocketAssembler(maxBytes: 1000)
            decoder.feed(ByteBuffer(bytes: bytes))
            while let frame = try decoder.next() { _ = try assembler.take(frame) }
        },
        Fuzzer("websocket-deflate", seeds: [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]) { bytes in
            guard let agreement = WebSocketDeflate.Agreement(fieldValue: "permessage-deflate") else { return }
            let message = try WebSocketDeflate(agreement, maxBytes: 10_000).decompress(ByteBuffer(bytes: bytes))
            if message.readableBytes > 10_000 { violation("a message is longer than its bound") }
        },
        Fuzzer(
            "websocket-agreement",
            texts: ["permessage-deflate; server_max_window_bits=\"10\"; client_no_context_takeover"]
        ) { bytes in
            let agreement = WebSocketDeflate.Agreement(fieldValue: String(decoding: bytes, as: UTF8.self))
            guard let agreement else { return }
            // Compresses as the server agreed to, and reads an empty block.
            _ = try WebSocketDeflate(agreement, maxBytes: 100).decompress(ByteBuffer(bytes: [0]))
        },
        Fuzzer(
            "ech-config-list",
            seeds: [
                [0, 61, 0xfe, 0x0d, 0, 57, 7, 0, 32, 0, 32] + [UInt8](repeating: 9, count: 32)
                    + [0, 4, 0, 1, 0, 1, 64, 10] + Array("cover.test".utf8) + [0, 0]
            ]
        ) { bytes in
            let list = try ECHConfigList(bytes)
            if list.bytes != bytes || list.publicName.isEmpty || list.publicName.utf8.count > 255 {
                violation("a list differs from its bytes")
            }
        },
        Fuzzer(
            "auth-challenge",
            texts: ["Basic realm=\"a\", Digest realm=\"b\", nonce=\"c\\\"\", qop=\"auth,auth-int\"", "Negotiate YQ=="]
        ) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            _ = DigestChallenge.best(of: [text])
            let challenges = AuthChallenge.parse(text)
            if challenges.count > AuthChallenge.maxChallenges { violation("more challenges than the bound") }
        },
    ]

    private static func decodeContent(_ bytes: [UInt8], _ coding: ContentCoding) throws {
        let stage = ContentStage(coding)
        stage.feed(ByteBuffer(bytes: bytes))
        var total = 0
        while total < 1 << 20, let piece = try stage.next() {
            if piece.readableBytes == 0 || piece.readableBytes > ContentStage.pieceSize {
                violation("a piece of no valid size")
            }
            total += piece.readableBytes
        }
    }

    private static func response(_ bytes: [UInt8], piece: Int) -> String {
        var parser = HTTP1ResponseReader()
        parser.expect(method: .get)
        var outcome = ""
        var body: [UInt8] = []
        func take(_ event: HTTP1ResponseReader.Event) {
            switch event {
            case .body(let part): body += part.readableBytesView
            case .informational(let response, let raw): outcome += "\(response) \(String(buffer: raw))"
            case .head(let response, let raw, let keepAlive):
                outcome += "\(response) \(String(buffer: raw)) \(keepAlive)"
            // Whether bytes follow the end depends on how they are split.
            case .end(let trailers, _): outcome += "end \(String(describing: trailers))"
            }
        }
        do {
            var rest = bytes[...]
            while !rest.isEmpty {
                parser.feed(ByteBuffer(bytes: rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try parser.next() { take(event) }
            }
            if let event = try parser.finishAtClose() { take(event) }
        } catch {
            // The part of a body that is delivered before an error depends on how the bytes are split.
            return outcome + "\(error)"
        }
        return outcome + "\(body)"
    }

    private static let clientSeeds: [[UInt8]] = {
        let settings = RawFrame(.settings).bytes
        let head = RawFrame.headers([(":status", "200")], stream: 1).bytes
        return [
            settings + head + RawFrame(.data, flags: 1, stream: 1, payload: [1, 2, 3]).bytes,
            settings + head + RawFrame(.goAway, payload: RawFrame.big(1) + RawFrame.big(0)).bytes
                + RawFrame(.reset, stream: 3, payload: RawFrame.big(8)).bytes,
            settings + RawFrame.headers([(":status", "103")], stream: 3).bytes
                + RawFrame.headers([(":status", "404")], stream: 3).bytes
                + RawFrame.headers([("x", "y")], stream: 3, flags: 5).bytes,
            settings + RawFrame.settings([(3, 1), (4, 70_000)]).bytes
                + RawFrame(.windowUpdate, stream: 3, payload: RawFrame.big(9)).bytes,
        ]
    }()

    /// The events, other than DATA, of a client with two requests; nil if an error ended the connection.
    private static func clientEvents(_ bytes: [UInt8], piece: Int) -> [String]? {
        var connection = HTTP2Connection(role: .client, limits: .init())
        for hasBody in [false, true] {
            var block = ByteBuffer(bytes: [0x82])
            let id = connection.open(&block, endStream: !hasBody, mayHaveBody: true)
            if hasBody { connection.send(ByteBuffer(repeating: 65, count: 100_000), on: id, isLast: true) }
        }
        while connection.writeNextFrame() != nil {}
        var events: [String] = []
        var heads: Set<UInt32> = []
        var received = 0
        do throws(HTTP2ConnectionError) {
            var rest = bytes[...]
            while !rest.isEmpty {
                try connection.feed(ByteBuffer(bytes: rest.prefix(piece)))
                rest = rest.dropFirst(piece)
                while let event = try connection.next(now: .uptimeNanoseconds(1)) {
                    switch event {
                    case .head(let id, let head, _):
                        if !heads.insert(id).inserted { violation("a stream has two final heads") }
                        events.append("head \(id) \(head.status ?? 0)")
                    case .data(_, let part, _):
                        received += part.readableBytes
                        if received > bytes.count { violation("more DATA than was sent") }
                    case .informational(let id, let head): events.append("informational \(id) \(head.status ?? 0)")
                    case .trailers(let id, _): events.append("trailers \(id)")
                    case .reset(let id, _): events.append("reset \(id)")
                    case .failed(let id, _): events.append("failed \(id)")
                    case .malformedTrailers(let id, _): events.append("malformedTrailers \(id)")
                    case .tooLarge(let id, _): events.append("tooLarge \(id)")
                    case .window(let id): events.append("window \(id)")
                    case .goAway(let last, _): events.append("goAway \(last)")
                    case .capacity(let count): events.append("capacity \(count)")
                    }
                }
            }
        } catch {
            return nil
        }
        while connection.writeNextFrame() != nil {}
        return events
    }

    private static func serverSeed(body: Int) -> [UInt8] {
        let fields = [(":method", "POST"), (":scheme", "https"), (":path", "/dns-query"), (":authority", "a.test")]
        let head = RawFrame.headers(fields, stream: 1, flags: body == 0 ? 5 : 4)
        let data = body == 0 ? [] : RawFrame(.data, flags: 1, stream: 1, payload: [1, 2, 3]).bytes
        return RawFrame(.settings).bytes + head.bytes + data + RawFrame(.ping, payload: [0, 0, 0, 0, 0, 0, 0, 1]).bytes
    }
}
