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

    /// README.md, the pages of docs/, and the pages of the DocC catalogs.
    static func guides() throws -> [String] {
        var guides = ["README.md"]
        for folder in ["docs", "Sources"] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            guides += files.filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }
        return guides.sorted()
    }

    @Test("every block of Swift in README.md, docs/ and the DocC catalogs is code that this package compiles")
    func blocksAreCompiled() throws {
        let manager = FileManager.default
        let sources = Self.root.appendingPathComponent("Tests/GuideTests").path
        var code: [[String]] = []
        for file in try manager.contentsOfDirectory(atPath: sources).sorted() where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: sources + "/" + file, encoding: .utf8)
            code.append(text.split(separator: "\n").compactMap { Self.bare(String($0)) })
        }
        for guide in try Self.guides() {
            let text = try String(contentsOfFile: Self.root.appendingPathComponent(guide).path, encoding: .utf8)
            for block in Self.blocks(of: text) {
                // A block may begin with imports; in a file, other code is between them and the rest.
                let imports = block.prefix { $0.hasPrefix("import ") }
                let rest = block.dropFirst(imports.count)
                let isThere = code.contains { lines in
                    imports.allSatisfy { lines.contains($0) }
                        && (rest.isEmpty || lines.indices.contains { lines[$0...].starts(with: rest) })
                }
                #expect(isThere, "\(guide): no compiled code has the block that begins with: \(block.first ?? "")")
            }
        }
    }
}
