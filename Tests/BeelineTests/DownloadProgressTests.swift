// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Beeline

@Suite("What a download does after each part")
struct DownloadProgressTests {
    private static let large = DownloadProgress.smallestPart

    private func part(_ range: String?) -> HTTPResponse {
        var head = HTTPResponse(status: range == nil ? .ok : .partialContent)
        head.headerFields[.contentRange] = range
        return head
    }

    /// Each row begins with a partial file of 100 bytes.
    static let rows: [(String, String?, Int64, DownloadProgress.Step)] = [
        ("a response that is not a part is the whole resource", nil, 7, .complete),
        ("the last part", "bytes 100-199/200", 200, .complete),
        ("a large part before the end", "bytes 100-\(large + 99)/900000", large + 100, .more),
        ("a small part before the end", "bytes 100-149/200", 150, .pauseThenMore(size: 50)),
        ("a first small part without a size may be the last", "bytes 100-149/*", 150, .more),
        (
            "an empty part of a known size", "bytes 100-199/200", 100,
            .mismatch("none of the bytes after 100 of 200")
        ),
        (
            "an empty part of an unknown size", "bytes 100-199/*", 100,
            .mismatch("none of the bytes after 100 of an unknown size")
        ),
        ("a size that is not a number", "bytes 100-149/many", 150, .complete),
    ]

    @Test("a part ends the download, or the next request follows with or without a wait", arguments: rows)
    func steps(_ row: (String, String?, Int64, DownloadProgress.Step)) {
        var progress = DownloadProgress(offset: 100)
        progress.begin(at: 100)
        #expect(progress.received(part(row.1), upTo: row.2) == row.3, "\(row.0)")
        #expect(progress.offset == row.2)
    }

    @Test("the second small part in a row counts as a resume even without a size")
    func openParts() {
        var progress = DownloadProgress(offset: 0)
        progress.begin(at: 0)
        #expect(progress.received(part("bytes 0-9/*"), upTo: 10) == .more)
        #expect(progress.isOpen && progress.resumes == 0)
        progress.begin(at: 10)
        #expect(!progress.isOpen)
        #expect(progress.received(part("bytes 10-19/*"), upTo: 20) == .pauseThenMore(size: 10))
        #expect(progress.isOpen && progress.resumes == 1)
    }

    @Test("bytes that were discarded do not count as resumed")
    func restart() {
        var progress = DownloadProgress(offset: 100)
        #expect(!progress.hasBegun && progress.resumedFrom == 100)
        progress.begin(at: 0)
        #expect(progress.hasBegun && progress.resumedFrom == 0)
        progress.resume(at: 40)
        #expect(progress.offset == 40 && progress.resumes == 1)
        progress.begin(at: 40)
        #expect(progress.resumedFrom == 0)
    }
}
