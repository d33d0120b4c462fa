// SPDX-License-Identifier: Apache-2.0

import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Guides")
struct GuideTests {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The lines of each Swift block of a Markdown text, without indentation.
    static func blocks(of text: String) -> [[String]] {
        var blocks: [[String]] = []
        var block: [String]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("```swift") {
                block = []
            } else if line.hasPrefix("```"), let whole = block {
                blocks.append(whole)
                block = nil
            } else if let text = bare(line) {
                block?.append(text)
            }
        }
        return blocks
    }

    static func bare(_ line: String) -> String? {
        let text = line.drop { $0 == " " }
        return text.isEmpty ? nil : String(text)
    }

    @Test("every block of Swift in README.md and docs/ is code that this package compiles")
    func blocksAreCompiled() throws {
        let manager = FileManager.default
        let sources = Self.root.appendingPathComponent("Tests/GuideTests").path
        var code: [[String]] = []
        for file in try manager.contentsOfDirectory(atPath: sources).sorted() where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: sources + "/" + file, encoding: .utf8)
            code.append(text.split(separator: "\n").compactMap { Self.bare(String($0)) })
        }
        let docs = Self.root.appendingPathComponent("docs").path
        let guides = try manager.contentsOfDirectory(atPath: docs).filter { $0.hasSuffix(".md") }.map {
            docs + "/" + $0
        }
        for guide in guides + [Self.root.appendingPathComponent("README.md").path] {
            for block in Self.blocks(of: try String(contentsOfFile: guide, encoding: .utf8)) {
                let isThere = code.contains { lines in
                    lines.indices.contains { lines[$0...].starts(with: block) }
                }
                #expect(isThere, "\(guide): no compiled code has the block that begins with: \(block.first ?? "")")
            }
        }
    }
}
