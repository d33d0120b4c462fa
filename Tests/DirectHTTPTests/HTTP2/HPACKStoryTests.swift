// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import HTTPTypes
import NIOCore
import NIOHPACK
import Testing

@testable import HTTPWire

/// Header blocks of other implementations, and ours in the decoder of another one. The stories are those of
/// github.com/http2jp/hpack-test-case; CONTRIBUTING.md says how to run them.
@Suite(
    "The stories of hpack-test-case",
    .enabled(if: ProcessInfo.processInfo.environment["BEELINE_HPACK_STORIES"] != nil, "no folder of stories is given")
)
struct HPACKStoryTests {
    private struct Story: Decodable {
        struct Block: Decodable {
            let headers: [[String: String]]
            let wire: String?
            let header_table_size: Int?
        }
        let cases: [Block]
    }

    private static func stories() throws -> [(name: String, story: Story)] {
        let folder = URL(fileURLWithPath: ProcessInfo.processInfo.environment["BEELINE_HPACK_STORIES"] ?? "")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "json" }.map { file in
            (file.path, try JSONDecoder().decode(Story.self, from: Data(contentsOf: file)))
        }
    }

    private static func text(_ headers: [[String: String]]) -> [String] {
        headers.flatMap { $0.map { "\($0.key): \($0.value)" } }
    }

    @Test("every block decodes to its headers")
    func decode() throws {
        var blocks = 0
        // Stories in which the decoder announces a table larger than our 4,096 octets do not concern us.
        for (name, story) in try Self.stories() where story.cases.allSatisfy({ $0.header_table_size ?? 4_096 <= 4_096 })
        {
            var decoder = HTTPWire.HPACKDecoder(maxListSize: 1 << 20, maxFields: 1_000)
            for (index, block) in story.cases.enumerated() {
                guard let wire = block.wire else { continue }
                let bytes = ByteBuffer(bytes: HPACKTests.bytes(wire))
                #expect(HPACKTests.decode(bytes, with: &decoder) == Self.text(block.headers), "\(name), block \(index)")
                blocks += 1
            }
        }
        #expect(blocks > 1_000)
    }

    @Test("headers from our encoder decode in NIOHPACK")
    func encode() throws {
        for (name, story) in try Self.stories() {
            var encoder = HTTPWire.HPACKEncoder()
            var decoder = NIOHPACK.HPACKDecoder(allocator: ByteBufferAllocator())
            for (index, block) in story.cases.enumerated() {
                var bytes = ByteBuffer()
                encoder.begin(into: &bytes)
                for header in block.headers {
                    for (name, value) in header {
                        encoder.encode(name, value: value, indexing: .incremental, into: &bytes)
                    }
                }
                let read = try decoder.decodeHeaders(from: &bytes).map { "\($0.name): \($0.value)" }
                #expect(read == Self.text(block.headers), "\(name), block \(index)")
            }
        }
    }
}
