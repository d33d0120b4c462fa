// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPTypes
import NIOCore
import NIOHPACK
import Names
import Testing

@testable import DirectHTTP
@testable import HTTPWire

@Suite("Header compression (RFC 7541)")
struct HPACKTests {
    typealias Field = (name: String, value: String)

    /// The fields of a block; nil where it is refused.
    static func decode(_ block: ByteBuffer, with decoder: inout HTTPWire.HPACKDecoder) -> [String]? {
        var fields: [String] = []
        do {
            try block.withUnsafeReadableBytes { bytes in
                try decoder.decode(bytes) { fields.append("\($0.field.name.rawName): \($0.field.value)") }
            }
        } catch {
            return nil
        }
        return fields
    }

    static func decoder(listSize: Int = 1 << 16) -> HTTPWire.HPACKDecoder {
        HTTPWire.HPACKDecoder(maxListSize: listSize, maxFields: 500)
    }

    @Test("the responses of RFC 7541 Appendix C.6 decode, including evictions")
    func appendixC() {
        let blocks = [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            "4883640effc1c0bf",
            """
            88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1\
            ab270fb5291f9587316065c003ed4ee5b1063d5007
            """,
        ]
        let date = "date: Mon, 21 Oct 2013 20:13:2"
        let place = "location: https://www.example.com"
        let expected = [
            [":status: 302", "cache-control: private", date + "1 GMT", place],
            [":status: 307", "cache-control: private", date + "1 GMT", place],
            [
                ":status: 200", "cache-control: private", date + "2 GMT", place, "content-encoding: gzip",
                "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            ],
        ]
        // The appendix uses a table of 256 octets, set here by a size update.
        var decoder = Self.decoder()
        #expect(Self.decode(ByteBuffer(bytes: [0x3f, 0xe1, 0x01]), with: &decoder) == [])
        for (block, fields) in zip(blocks, expected) {
            #expect(Self.decode(ByteBuffer(bytes: Self.bytes(block)), with: &decoder) == fields)
        }
    }

    @Test(
        "an invalid block is rejected",
        arguments: [
            "80", "be", "ff8001", "ffffffffffffff", "40", "4001", "400161", "40016102", "828302", "3fe2ff7f", "8220",
            "0085ffffffffff00",
            "0081ff0161", "0001618400000000",
        ]
    )
    func refused(block: String) {
        var decoder = Self.decoder()
        let isTrailingPadding = block == "0081ff0161"
        #expect(Self.decode(ByteBuffer(bytes: Self.bytes(block)), with: &decoder) == nil || isTrailingPadding)
    }

    @Test("a block that expands beyond the limit gives no further fields, and the tables stay in sync")
    func bomb() {
        var decoder = Self.decoder(listSize: 100_000)
        var block = ByteBuffer(bytes: [0x40, 1, UInt8(ascii: "x")])
        HPACKInteger.write(3_000, prefix: 7, flags: 0, into: &block)
        block.writeRepeatingByte(UInt8(ascii: "y"), count: 3_000)
        block.writeRepeatingByte(0x80 | 62, count: 4_000)
        block.writeBytes([0x40, 1, UInt8(ascii: "x"), 1, UInt8(ascii: "z")])
        let fields = Self.decode(block, with: &decoder)
        #expect(decoder.excess == .size && fields?.count == 100_000 / (1 + 3_000 + 32))
        // The literal after the limit is the newest entry.
        let next = Self.decode(ByteBuffer(bytes: [0x80 | 62]), with: &decoder)
        #expect(next == ["x: z"] && decoder.excess == nil)
    }

    @Test("invalid names and values are reported, and the tables stay in sync")
    func malformed() throws {
        var decoder = Self.decoder()
        let block = ByteBuffer(bytes: [
            0x40, 1, UInt8(ascii: "X"), 1, UInt8(ascii: "1"), 0x40, 1, UInt8(ascii: "x"), 1, 0, 0xbf, 0xbe,
        ])
        var faults: [Bool] = []
        try block.withUnsafeReadableBytes { bytes in
            try decoder.decode(bytes) { faults.append($0.kind == .malformed) }
        }
        #expect(faults == [true, true, true, true])
    }

    /// The Huffman code of the octets; nil if it is not shorter.
    private static func code(of text: [UInt8]) -> [UInt8]? {
        var coded = [UInt8](repeating: 0, count: text.count)
        let count = coded.withUnsafeMutableBytes { coded in
            text.withUnsafeBytes { HPACKHuffman.encode($0, into: coded) }
        }
        return count.map { Array(coded[..<$0]) }
    }

    @Test("every octet survives Huffman coding")
    func huffman() throws {
        for first in UInt8.min...UInt8.max {
            let text = [first] + [UInt8](repeating: 0x61, count: 40) + [first, 0xff &- first]
            let coded = try #require(Self.code(of: text))
            var plain = [UInt8](repeating: 0, count: coded.count * 2 + 1)
            let count = coded.withUnsafeBytes { coded in
                plain.withUnsafeMutableBytes { HPACKHuffman.decode(coded, into: $0) }
            }
            #expect(count.map { Array(plain[..<$0]) } == text)
        }
    }

    @Test(
        "text whose Huffman code is not shorter stays uncoded",
        arguments: ["", "%", "\u{7f}\u{7f}", "<<<<<<<<", "ZZZZZZZZ"]
    )
    func huffmanIsNotShorter(text: String) {
        #expect(Self.code(of: Array(text.utf8)) == nil)
    }

    @Test("a value that is not UTF-8 is sent unchanged, so that a server gets its cookie back as it set it")
    func octets() throws {
        let octets: [UInt8] = Array("name=".utf8) + [0xc4, 0xe3, 0xba, 0xc3, 0x85]
        var fields: HTTPFields = [.cookie: "plain=1"]
        fields.append(HTTPField(name: .cookie, lenientValue: octets))
        fields.append(HTTPField(name: HTTPField.Name("x-name") ?? .accept, lenientValue: octets))
        let request = try PreparedRequest(.get, HTTPURL("http://a.test/"), fields: fields)
        var encoder = HTTPWire.HPACKEncoder()
        var decoder = Self.decoder()
        // Twice, to check that the tables of both sides stay equal.
        for _ in 0..<2 {
            var block = ByteBuffer()
            HTTP2Headers.write(request, with: &encoder, into: &block)
            var read: [[UInt8]] = []
            try decoder.decode(block) { field in
                if field.kind == .ordinary { read.append(field.field.withUnsafeBytesOfValue { Array($0) }) }
            }
            #expect(read == [Array("plain=1".utf8), octets, octets])
        }
    }

    @Test("pseudo fields do not count for the limit of fields", arguments: [(10, false), (11, true)])
    func fieldLimit(count: Int, isTooLarge: Bool) {
        var encoder = HTTPWire.HPACKEncoder()
        var decoder = HTTPWire.HPACKDecoder(maxListSize: 1 << 16, maxFields: 10)
        var block = ByteBuffer()
        encoder.encode(":status", value: "200", indexing: .none, into: &block)
        for index in 0..<count { encoder.encode("x-\(index)", value: "y", indexing: .none, into: &block) }
        #expect(Self.decode(block, with: &decoder)?.count == 11)
        #expect(decoder.excess == (isTooLarge ? .count : nil))
    }

    @Test("a long coded string does not keep its memory allocated")
    func scratch() throws {
        var encoder = HTTPWire.HPACKEncoder()
        var decoder = HTTPWire.HPACKDecoder(maxListSize: 1 << 20, maxFields: 10)
        var block = ByteBuffer()
        encoder.encode("x-long", value: String(repeating: "a", count: 60_000), indexing: .none, into: &block)
        var size = 0
        try decoder.decode(block) { size = $0.size }
        #expect(size > 60_000 && decoder.scratch.count <= HTTPWire.HPACKDecoder.largestScratch)
    }

    @Test("NIO's decoder reads our blocks, and our decoder reads NIO's")
    func agreesWithNIO() throws {
        var random = SeededRandom(seed: 7541)
        var ours = HTTPWire.HPACKEncoder()
        var theirs = NIOHPACK.HPACKDecoder(allocator: ByteBufferAllocator())
        var theirEncoder = NIOHPACK.HPACKEncoder(allocator: ByteBufferAllocator())
        var ourDecoder = Self.decoder()
        let names = [":method", ":path", "accept", "x-a", "x-long-name-of-a-field", "cookie", "user-agent", "etag"]
        let values = ["GET", "/", "*/*", "", "a", "Mozilla/5.0 (X11; Linux)", String(repeating: "ü~", count: 90)]
        for round in 0..<FuzzRounds.count(ordinary: 3_000) {
            if round % 50 == 49 { ours.setMaximumTableSize(Int.random(in: 0...4_096, using: &random)) }
            let fields = (0..<Int.random(in: 1...8, using: &random)).map { _ -> Field in
                let value = values.randomElement(using: &random) ?? ""
                let isFresh = Bool.random(using: &random)
                return (names.randomElement(using: &random) ?? "", isFresh ? value + "\(round % 40)" : value)
            }
            var block = ByteBuffer()
            ours.begin(into: &block)
            for field in fields {
                let indexing: [HTTPWire.HPACKEncoder.Indexing] = [.incremental, .incremental, .none, .never]
                ours.encode(
                    field.name,
                    value: field.value,
                    indexing: indexing.randomElement(using: &random) ?? .none,
                    into: &block
                )
            }
            let read = try theirs.decodeHeaders(from: &block)
            #expect(read.map(\.name) == fields.map(\.name) && read.map(\.value) == fields.map(\.value))

            block.clear()
            try theirEncoder.encode(headers: HPACKHeaders(fields.map { ($0.name, $0.value) }), to: &block)
            let expected = fields.map { "\($0.name): \($0.value)" }
            #expect(Self.decode(block, with: &ourDecoder) == expected)
        }
    }

    @Test(
        "NIO's decoder reads the head of a request",
        arguments: [HTTPRequest.Method.get, .post, .delete],
        ["http://h/", "https://h:444/", "https://h/index.html", "https://h/a?b=c", "https://h/?x"]
    )
    func requestHead(method: HTTPRequest.Method, text: String) throws {
        let url = try HTTPURL(text)
        let request = try PreparedRequest(method, url, fields: [.accept: "*/*"])
        var ours = HTTPWire.HPACKEncoder()
        var theirs = NIOHPACK.HPACKDecoder(allocator: ByteBufferAllocator())
        // The second block uses the tables.
        for _ in 0..<2 {
            var block = ByteBuffer()
            HTTP2Headers.write(request, with: &ours, into: &block)
            let read = try theirs.decodeHeaders(from: &block).map { "\($0.name) \($0.value)" }
            let expected = [
                ":method \(method.rawValue)", ":scheme \(url.origin.scheme.name)", ":authority \(url.origin.authority)",
                ":path \(url.target)", "accept */*",
            ]
            #expect(Array(read.prefix(5)) == expected)
        }
    }

    @Test(
        "paths of equal length have blocks of equal length, so that a padded query stays padded (RFC 8467)"
    )
    func lengthOfPaths() throws {
        let lengths = try ["A", "z", "7", "~"].map { letter in
            var encoder = HTTPWire.HPACKEncoder()
            var decoder = Self.decoder()
            var block = ByteBuffer()
            let path = "/dns-query?dns=" + String(repeating: letter, count: 171)
            try HTTP2Headers.write(
                PreparedRequest(.get, HTTPURL("https://dns.test" + path)),
                with: &encoder,
                into: &block
            )
            #expect(Self.decode(block, with: &decoder)?.contains(":path: \(path)") == true)
            return block.readableBytes
        }
        #expect(Set(lengths).count == 1, "\(lengths)")
    }

    @Test("no block makes the decoder trap")
    func fuzz() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<FuzzRounds.count(ordinary: 20_000) {
            var decoder = Self.decoder()
            for _ in 0..<3 {
                let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                if Self.decode(ByteBuffer(bytes: bytes), with: &decoder) == nil { break }
            }
        }
    }

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        var digits = hexadecimal[...]
        var bytes: [UInt8] = []
        while !digits.isEmpty {
            bytes.append(UInt8(digits.prefix(2), radix: 16) ?? 0)
            digits = digits.dropFirst(2)
        }
        return bytes
    }
}
