// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import BeelineProxy

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
        bytes.withUnsafeBytes { bytes in
            var scanner = HeadScanner(limit: RequestHead.lengthLimit)
            guard let end = try? scanner.end(in: bytes) else { return nil }
            return try? RequestHead(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        }
    }

    @Test("an accepted request head, when forwarded, parses to the same request")
    func requestHeads() {
        var random = SeededRandom(seed: 5)
        for round in 0..<FuzzRounds.count(ordinary: 20_000) {
            let bytes = Self.mutated(Array(Self.heads[round % Self.heads.count].utf8), &random)
            guard let head = Self.read(bytes), case .resource(let destination, _, _) = head.target else { continue }
            let text = String(buffer: head.forwarded(.absolute(authorization: nil), addsVia: false))
            // Another proxy must read in the forwarded head the same single request as we do.
            guard let again = Self.read(Array(text.utf8)) else {
                Issue.record("not read again: \(text.debugDescription)")
                continue
            }
            #expect(again.destination == destination && again.method == head.method && again.framing == head.framing)
            #expect(again.wantsUpgrade == head.wantsUpgrade && again.isOld == head.isOld)
            #expect(text.components(of: "\r\n\r\n") == 2, "one head, and nothing behind it")
            #expect(!text.lowercased().contains("proxy-auth"))
            // The gateway splits the fields and joins them again. Nothing may be added, and they must stay within one
            // head.
            let fields = head.fields.httpFields
            let whole = head.fields.replacing(fields)
            #expect(whole.httpFields == fields && whole.httpFields.count == fields.count)
            #expect(!String(buffer: whole.endToEnd).contains("\r\n\r\n"))
        }
    }

    @Test("the scanner finds the same end of a head, however its bytes are split")
    func scanner() {
        var random = SeededRandom(seed: 6)
        for round in 0..<FuzzRounds.count(ordinary: 5_000) {
            let bytes = Self.mutated(Array(Self.heads[round % Self.heads.count].utf8), &random)
            for isLenient in [false, true] {
                var whole = HeadScanner(limit: 1000, isLenient: isLenient)
                let expected = bytes.withUnsafeBytes { bytes in Result { try whole.end(in: bytes) } }
                var pieces = HeadScanner(limit: 1000, isLenient: isLenient)
                var found: Result<Int?, any Error> = .success(nil)
                for count in bytes.indices {
                    found = bytes[...count].withUnsafeBytes { bytes in Result { try pieces.end(in: bytes) } }
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
            var whole = ChunkScanner()
            var content: [UInt8] = []
            let expected = bytes.withUnsafeBytes { bytes in try? whole.scan(bytes) { content += $0 } }
            var pieces = ChunkScanner()
            var count: Int? = 0
            var found: [UInt8] = []
            for byte in bytes {
                guard let step = [byte].withUnsafeBytes({ bytes in try? pieces.scan(bytes) { found += $0 } }) else {
                    count = nil
                    break
                }
                count = count.map { $0 + step }
                if pieces.isEnded { break }
            }
            #expect(count == expected)
            if expected != nil { #expect(found == content) }
        }
    }

    @Test("the SOCKS reader answers any bytes or waits for more, however they are split")
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
