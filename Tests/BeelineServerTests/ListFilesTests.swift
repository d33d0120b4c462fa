// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import HTTPDNS
import Names
import Testing

@testable import BeelineServer

@Suite("Files of blocked and rewritten names")
struct ListFilesTests {
    @Test("a list that a program has emptied and is writing again stays in use until the file rests")
    func emptied() throws {
        let folder = try ListFolder("0.0.0.0 one.example")
        let lists = try ListFiles([folder.path], blockedAnswer: .noSuchName)
        func isBlocked(_ name: String) throws -> Bool {
            let name = try #require(DNSName(name))
            let host = try #require(NameHost(name))
            return lists.rules?.answer(name, host: host, .a)?.code == .noSuchName
        }
        try folder.replace(with: "")
        #expect(try !lists.reload())
        #expect(try isBlocked("one.example"))
        try folder.replace(with: "0.0.0.0 one.example\n0.0.0.0 two.example")
        #expect(try !lists.reload())
        #expect(try isBlocked("one.example") && !isBlocked("two.example"))
        #expect(try lists.reload())
        #expect(try isBlocked("one.example") && isBlocked("two.example"))
        #expect(try !lists.reload())
    }

    @Test("more names than the table takes are an error, and none is dropped without a word")
    func tooManyNames() throws {
        let (one, two) = (try ListFolder("0.0.0.0 a.example b.example"), try ListFolder("0.0.0.0 b.example c.example"))
        let error = #expect(throws: ServerError.self) {
            try ListFiles([one.path, two.path], blockedAnswer: .noSuchName, maxNames: 3)
        }
        #expect(error?.code == .badList && error?.message.contains("\(two.path) have 3 names or more") == true)
        #expect(try ListFiles([one.path, two.path], blockedAnswer: .noSuchName, maxNames: 4).rules?.count == 3)
    }

    @Test(
        "a list for other programs is an error, because none of its names would be blocked",
        arguments: [
            "||ads.example^", "! Title: Ads\n||ads.example^\n", "*.ads.example", "# Ads\r\nads.example\r\n",
            "ads.example # a tracker\n",
        ]
    )
    func foreignList(_ text: String) throws {
        let folder = try ListFolder(text)
        let error = #expect(throws: ServerError.self) {
            try ListFiles([folder.path], blockedAnswer: .noSuchName)
        }
        #expect(error?.code == .badList && error?.message.contains("such as 0.0.0.0 ads.example") == true)
    }

    @Test(
        "a list without rules, or with lines for other programs beside rules, is accepted",
        arguments: [
            "", "# ads.example\n", "0.0.0.0 a.example\n||ads.example^\n", "local=/a.example/\nads.example",
            "no-resolv\nserver=/corp.example/192.0.2.1#53\n192.0.2.1#53\n",
            "[/corp.example/]192.0.2.53:53\n192.0.2.1\ntls://a.test\n",
        ]
    )
    func listWithoutRules(_ text: String) throws {
        let folder = try ListFolder(text)
        #expect(throws: Never.self) { try ListFiles([folder.path], blockedAnswer: .noSuchName) }
    }

    @Test("a list above the bound is an error, and its first part is not used")
    func tooLarge() throws {
        let folder = try ListFolder(String(repeating: "#", count: ZoneFile.maxOctets + 1))
        let error = #expect(throws: ServerError.self) {
            try ListFiles([folder.path], blockedAnswer: .noSuchName)
        }
        #expect(error?.code == .badList && error?.message == "the list \(folder.path) is larger than 64 MiB")
    }
}
