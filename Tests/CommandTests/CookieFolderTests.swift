// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import BeelineCommand

@Suite("Folders for temporary cookie files")
struct CookieFolderTests {
    @Test("folders of killed processes are deleted, but not those of other hosts, whose locks are not visible here")
    func otherHosts() throws {
        let files = FileManager.default
        let parent = NSTemporaryDirectory() + "/beeline-folders-\(UUID().uuidString)"
        try files.createDirectory(atPath: parent, withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: parent) }
        let running = try CookieFolder(in: parent)
        let own = URL(fileURLWithPath: running.file).deletingLastPathComponent().lastPathComponent
        let abandoned = own.dropLast(6) + "zzzzzz"
        let others = ["beeline-login-at-elsewhere-abcdef", "beeline-login-abcdef"]
        for name in others + [String(abandoned)] {
            try files.createDirectory(atPath: "\(parent)/\(name)", withIntermediateDirectories: true)
        }
        let next = try CookieFolder(in: parent)
        let left = Set(try files.contentsOfDirectory(atPath: parent))
        #expect(left.isSuperset(of: others + [own]) && !left.contains(String(abandoned)) && left.count == 4)
        running.remove()
        next.remove()
        #expect(Set(try files.contentsOfDirectory(atPath: parent)) == Set(others))
    }
}
