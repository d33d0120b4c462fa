// SPDX-License-Identifier: Apache-2.0

import HTTPDNS
import HTTPTypes
import NIOCore
import Names
import Testing

@testable import BeelineProxy
@testable import HTTPWire

/// A scanner that takes quadratic time needs minutes for these inputs.
@Suite("Large inputs take linear time and have a bound", .timeLimit(.minutes(5)))
struct ScannerTests {
    private static let links = GatewayLinks(hosts: ["live.example"], token: "T")

    private func mapper(_ url: String) throws -> PlaylistMapper {
        PlaylistMapper(links: Self.links, base: try HTTPURL(url))
    }

    @Test("checking whether links lead above the root takes linear time with a long base")
    func aboveRoot() throws {
        let deep = try mapper("https://live.example/" + String(repeating: "/", count: 60_000))
        let lines = String(repeating: "..\n", count: 200_000)
        #expect(try deep.mapped(lines, as: .hls) == lines)
        #expect(
            try mapper("https://live.example/a/b").mapped("../x\n../../x\n", as: .hls)
                == "../x\n/T/https/live.example/x\n"
        )
    }

    @Test("a document whose links make it grow too large is refused")
    func growth() throws {
        let long = "https://live.example/" + String(repeating: "a", count: 60_000)
        let host = "https://user:" + String(repeating: "p", count: 4_000) + "@live.example/"
        let documents: [(String, PlaylistMapper.Kind, String)] = [
            (long, .hls, String(repeating: "..\n", count: 20_000)),
            (long, .hls, "#EXT-X-DATERANGE:" + String(repeating: "X-ASSET-LIST=\"?\",", count: 20_000)),
            (host, .hls, String(repeating: "/\n", count: 200_000)),
            (host, .hls, "#EXT-X-KEY:" + String(repeating: "URI=\"/\",", count: 100_000)),
            (host, .dash, String(repeating: "<BaseURL>/</BaseURL>", count: 20_000)),
            (host, .dash, "<S " + String(repeating: "media='/' ", count: 20_000) + ">"),
            (host, .dash, "<UTCTiming value='" + String(repeating: "/ ", count: 20_000) + "'>"),
        ]
        for (url, kind, text) in documents {
            #expect(throws: MappingBudget.Fault.tooLarge) { _ = try mapper(url).mapped(text, as: kind) }
        }
        let lists: [(PlaylistMapper.Kind, String)] = [
            (.assets, "{\"ASSETS\":[" + (0..<4_000).map { _ in "{\"URI\":\"?\"}" }.joined(separator: ",") + "]}"),
            (
                .steering,
                "{\"PATHWAY-CLONES\":[{\"URI-REPLACEMENT\":{\"PER-VARIANT-URIS\":{"
                    + (0..<4_000).map { "\"\($0)\":\"?\"" }.joined(separator: ",") + "}}}]}"
            ),
        ]
        for (kind, text) in lists {
            #expect(throws: MappingBudget.Fault.tooLarge) {
                _ = try DocumentMapper(links: Self.links, base: HTTPURL(long), gateway: "http://G")
                    .mapped(Array(text.utf8), as: kind)
            }
        }
    }

    @Test("a cancelled task stops its mapping", arguments: [PlaylistMapper.Kind.hls, .dash])
    func cancelled(_ kind: PlaylistMapper.Kind) async throws {
        let mapper = try mapper("https://live.example/")
        let text = String(repeating: kind == .hls ? "/a\n" : "<BaseURL>/a</BaseURL>", count: 1_000)
        let work = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try mapper.mapped(text, as: kind)
        }
        await #expect(throws: MappingBudget.Fault.cancelled) { _ = try await work.value }
    }

    @Test("documents of one unterminated element are mapped in linear time")
    func openElements() throws {
        let mapper = try mapper("https://live.example/a")
        let count = 300_000
        for (kind, piece) in [
            (PlaylistMapper.Kind.dash, "<"), (.dash, "<!--"), (.dash, "<![CDATA["), (.dash, "<a b='"), (.dash, "<a "),
            (.dash, "a=\""), (.dash, "\u{301}"), (.hls, "\""), (.hls, "#EXT-X-KEY:URI=\""), (.hls, "{$"), (.hls, "../"),
            (.hls, "\u{301}"), (.hls, "\r"), (.hls, "#EXT-X-DEFINE:NAME=\""),
        ] {
            let text = String(repeating: piece, count: count)
            #expect(try mapper.mapped(text, as: kind).utf8.count >= text.utf8.count - 2 * count, "\(piece)")
        }
        // Each variable contains the one before it twice: the expansion has its own bound.
        var text = "#EXT-X-DEFINE:NAME=\"0\",VALUE=\"aaaaaaaaaaaaaaaa\"\n"
        for index in 1..<64 {
            text += "#EXT-X-DEFINE:NAME=\"\(index)\",VALUE=\"{$\(index - 1)}{$\(index - 1)}\"\n"
        }
        #expect(try mapper.mapped(text, as: .hls).utf8.count < 2 * text.utf8.count)
    }

    #if DEBUG
    /// The size of a document, and the time in which it is mapped. An unoptimized build is much slower.
    private static let work = (size: PlaylistMapper.sizeLimit / 32, time: Duration.seconds(60))
    #else
    private static let work = (size: PlaylistMapper.sizeLimit, time: Duration.seconds(4))
    #endif

    @Test(
        "documents of short lines are mapped in reasonable time",
        arguments: [
            (.hls, "\n"), (.hls, "a\n"), (.hls, "..:\n"), (.hls, "a://\n"), (.hls, "http://x\n"),
            (.hls, "#EXT:URI=\"\"\n"), (.hls, "\u{301}"), (.hls, "\""), (.dash, "<a>"), (.dash, "<a b=''>"),
            (.dash, "<Laurl>//x<"), (.dash, "\u{301}"),
        ] as [(PlaylistMapper.Kind, String)]
    )
    func shortLines(_ kind: PlaylistMapper.Kind, piece: String) throws {
        let mapper = try mapper("https://live.example/a/b")
        let text = "#EXT" + String(repeating: piece, count: Self.work.size / piece.utf8.count)
        let start = ContinuousClock.now
        // A document whose links would take too long is refused.
        if let mapped = try? mapper.mapped(text, as: kind) { #expect(mapped.utf8.elementsEqual(text.utf8)) }
        #expect(ContinuousClock.now - start < Self.work.time)
    }

    @Test("a long list in Connection is matched against many fields in linear time")
    func listedFields() throws {
        let url = try HTTPURL("https://live.example/")
        var fields = HTTPFields()
        fields[.connection] = (0..<40_000).map { "x\($0)" }.joined(separator: " ,")
        let name = try #require(HTTPField.Name("y"))
        for _ in 0..<4_000 { fields.append(HTTPField(name: name, value: "")) }
        fields[.init("x39999") ?? name] = "hop"
        let passed = GatewayFields.response(fields, of: .init(url: url, kind: nil), links: Self.links)
        #expect(passed.count == 4_000)
    }

    @Test("heads, chunk extensions and SOCKS requests in single bytes, and links of 64 KiB, take linear time")
    func bytes() throws {
        var head = [UInt8]("GET http://a.test/ HTTP/1.1\r\nX: ".utf8)
        head += [UInt8](repeating: 0x2c, count: RequestHead.lengthLimit - head.count - 4) + Array("\r\n\r\n".utf8)
        var reader = HTTP1HeadReader(.request, limit: RequestHead.lengthLimit)
        var growing = ByteBuffer()
        for (index, byte) in head.enumerated() {
            growing.writeInteger(byte)
            let raw = try reader.take(from: &growing)?.raw
            #expect(raw?.readableBytes == (index == head.count - 1 ? head.count : nil))
        }
        #expect(throws: HTTP1Error.self) {
            var reader = HTTP1HeadReader(.request, limit: RequestHead.lengthLimit)
            var long = ByteBuffer(bytes: [0x61] + head)
            _ = try reader.take(from: &long)
        }
        let long = String(repeating: "a", count: 60_000)
        #expect(Self.links.target(of: "/T/https/live.example/\(long)")?.url.path.utf8.count == 60_001)
        #expect(Self.links.target(of: "/T/https/\(long)") == nil)
        let query = String(repeating: "&", count: 60_000)
        #expect(try Self.links.steered(HTTPURL("https://live.example/?_beeline_host=live.example\(query)")) != nil)
        #expect(PACFile.text(proxy: long)?.contains(long) == true)
        var socks = SOCKSReader(credentials: ProxyCredentials(user: long, password: long))
        var input = ByteBuffer()
        var refusals = 0
        let most = [UInt8](repeating: 255, count: 255)
        for byte in [5, 1, 2, 1, 255] + most + [255] + most {
            input.writeInteger(byte)
            if case .refuse = socks.next(&input) { refusals += 1 }
        }
        #expect(refusals == 1 && input.readableBytes == 0)
    }

    @Test(
        "numbers that overflow or have a sign are refused",
        arguments: [
            "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999", "Content-Length: -1",
            "Content-Length: +1", "Content-Length: 1, 1", "Max-Forwards: 9223372036854775808",
        ]
    )
    func numbers(_ field: String) {
        let head = "OPTIONS http://a.test/ HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n"
        #expect(throws: HTTP1Error.self) {
            _ = try RequestHead(HTTP1Head(raw: ByteBuffer(string: head)))
        }
        var body = HTTP1BodyReader(.chunked)
        #expect(throws: HTTP1Error.self) {
            var chunk = ByteBuffer(string: "8000000000000000\r\n")
            _ = try body.next(from: &chunk)
        }
    }

    @Test(
        "a target's invalid UTF-8 is percent-encoded, and a combining mark after its slash is kept",
        arguments: [([0x2f, 0xe4, 0x3f, 0xff], "/%E4?%FF"), ([0x2f, 0xcc, 0xb8], "/\u{338}"), ([0x3f, 0x61], "/?a")]
            as [([UInt8], String)]
    )
    func octetsOfATarget(octets: [UInt8], expected: String) throws {
        let head = Array("GET http://a.test".utf8) + octets + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        let read = try RequestHead(HTTP1Head(raw: ByteBuffer(bytes: head)))
        guard case .resource(_, _, let path) = read.target else { return #expect(Bool(false)) }
        #expect(path.utf8.elementsEqual(expected.utf8))
    }

    @Test("fields that Connection lists are not forwarded", arguments: ["X-A", "Authorization", "Expect"])
    func listedFields(name: String) throws {
        let fields = "Host: a\r\nX-B: 1\r\n\(name): x\r\nConnection: \(name.lowercased())\r\n\r\n"
        let head = "GET http://a.test/ HTTP/1.1\r\n" + fields
        let read = try RequestHead(HTTP1Head(raw: ByteBuffer(string: head)))
        #expect(String(buffer: read.fields.lines) == "X-B: 1\r\n")
    }
}
