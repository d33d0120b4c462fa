// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import BeelineProxy
@testable import HTTPWire

@Suite("Parsers reject malformed bytes, and never trap")
struct ProxyFuzzTests {
    /// Valid heads, to be mutated.
    static let heads = [
        "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nConnection: keep-alive, x\r\nX: 1\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n",
        "POST http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT http://a.test HTTP/1.0\r\nContent-Length: 12\r\nProxy-Connection: keep-alive\r\n\r\n",
        "OPTIONS http://a.test HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n",
    ]

    private static func mutated(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = bytes
        let interesting = Array("\r\n\t :;,/\\@#?%0123456789abcfxAZ\0\u{7f}".utf8) + [0x80, 0xff]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { break }
            let at = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[at] = interesting.randomElement(using: &random) ?? 0
            case 1: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: at)
            case 2: bytes.remove(at: at)
            case 3: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...8, using: &random)))
            default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 16)], at: at)
            }
        }
        return bytes
    }

    private static func read(_ bytes: [UInt8]) -> RequestHead? {
        var reader = HTTP1HeadReader(.request, limit: RequestHead.lengthLimit)
        var input = ByteBuffer(bytes: bytes)
        return try? reader.take(from: &input).map { try RequestHead($0) }
    }

    @Test("an accepted request head, when forwarded, parses to the same request")
    func requestHeads() {
        var random = SeededRandom(seed: 5)
        for round in 0..<FuzzRounds.count(ordinary: 20_000) {
            let bytes = Self.mutated(Array(Self.heads[round % Self.heads.count].utf8), &random)
            guard let head = Self.read(bytes), case .resource(let destination, _, _) = head.target else { continue }
            let text = String(buffer: head.forwarded(toProxy: true, addsVia: false))
            // Another proxy must read in the forwarded head the same single request as we do.
            guard let again = Self.read(Array(text.utf8)) else {
                Issue.record("not read again: \(text.debugDescription)")
                continue
            }
            #expect(again.destination == destination && again.method == head.method && again.framing == head.framing)
            #expect(again.wantsUpgrade == head.wantsUpgrade && again.isHTTP10 == head.isHTTP10)
            #expect(text.components(of: "\r\n\r\n") == 2, "one head, and nothing behind it")
            #expect(!text.lowercased().contains("proxy-auth"))
            // The gateway splits the fields and joins them again. Nothing may be added, and they must stay within one
            // head.
            let fields = head.fields.httpFields
            let whole = head.fields.replacing(fields)
            #expect(whole.httpFields == fields && whole.httpFields.count == fields.count)
            #expect(!String(buffer: whole.lines).contains("\r\n\r\n"))
        }
    }

    @Test("the scanner finds the same end of a head, however its bytes are split")
    func scanner() {
        var random = SeededRandom(seed: 6)
        for round in 0..<FuzzRounds.count(ordinary: 5_000) {
            let bytes = Self.mutated(Array(Self.heads[round % Self.heads.count].utf8), &random)
            for strictness in [HTTP1HeadReader.Strictness.request, .response] {
                var whole = HTTP1HeadReader(strictness, limit: 1000)
                var input = ByteBuffer(bytes: bytes)
                let expected = Result { try whole.take(from: &input)?.raw }
                var pieces = HTTP1HeadReader(strictness, limit: 1000)
                var found: Result<ByteBuffer?, any Error> = .success(nil)
                var growing = ByteBuffer()
                for byte in bytes {
                    growing.writeInteger(byte)
                    found = Result { try pieces.take(from: &growing)?.raw }
                    if case .success(nil) = found { continue }
                    break
                }
                #expect((try? found.get()) == (try? expected.get()))
            }
        }
    }

    @Test("the scanner finds the same end of a chunked body, however its bytes are split")
    func chunks() {
        var random = SeededRandom(seed: 7)
        let body = Array("5;a=b\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n".utf8)
        for _ in 0..<FuzzRounds.count(ordinary: 10_000) {
            let bytes = Self.mutated(body, &random)
            let whole = Self.content(of: bytes, piece: bytes.count)
            #expect(Self.content(of: bytes, piece: 1) == whole)
        }
    }

    /// The content of a chunked body that comes in pieces, and the number of bytes behind it; nil if it is malformed.
    private static func content(of body: [UInt8], piece: Int) -> [[UInt8]]? {
        var reader = HTTP1BodyReader(.chunked)
        var input = ByteBuffer()
        var content: [UInt8] = []
        for start in stride(from: 0, to: body.count, by: max(piece, 1)) {
            input.writeBytes(body[start..<min(body.count, start + piece)])
            do {
                while let part = try reader.next(from: &input) {
                    if case .content(let bytes) = part { content += bytes.readableBytesView }
                }
            } catch {
                return nil
            }
        }
        return [content, Array(input.readableBytesView)]
    }

    @Test("a SOCKS client that sends any bytes gets an answer, or the proxy waits for more")
    func socks() {
        var random = SeededRandom(seed: 8)
        let greetings: [[UInt8]] = [
            [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80], [5, 1, 0, 5, 1, 0, 3, 6] + Array("a.test".utf8) + [1, 187],
            [5, 2, 0, 2, 1, 2, 109, 101, 2, 104, 105, 5, 1, 0, 4] + [UInt8](repeating: 1, count: 18),
        ]
        for round in 0..<FuzzRounds.count(ordinary: 20_000) {
            let bytes = Self.mutated(greetings[round % 3], &random)
            let credentials = round % 3 == 2 ? ProxyCredentials(user: "me", password: "hi") : nil
            var reader = SOCKSReader(credentials: credentials)
            var input = ByteBuffer()
            var whole: [SOCKSReader.Event] = []
            for byte in bytes {
                input.writeInteger(byte)
                while let event = reader.next(&input) { whole.append(event) }
            }
            var again = SOCKSReader(credentials: credentials)
            var all = ByteBuffer(bytes: bytes)
            var events: [SOCKSReader.Event] = []
            while let event = again.next(&all) { events.append(event) }
            #expect(events == whole)
            if case .request(let destination)? = events.last { #expect(destination.port > 0) }
        }
    }
}

extension String {
    fileprivate func components(of mark: String) -> Int {
        split(separator: mark, omittingEmptySubsequences: false).count
    }
}
