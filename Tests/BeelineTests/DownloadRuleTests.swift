// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import Beeline

/// Further tests of downloads, with the server of ``DownloadTests``.
@Suite("Downloads: temporary statuses, fields of the request, what is left behind", .timeLimit(.minutes(1)))
struct DownloadRuleTests {
    private typealias Lab = DownloadTests.Lab
    private typealias Server = DownloadTests.Server

    @Test("a temporary status for the rest counts as a resume")
    func temporaryStatus() async throws {
        var lab = try await Lab()
        let server = Server(breaksAt: 300_000, absences: 3, absence: .status(.badGateway))
        lab.server.withLockedValue { $0 = server }
        let download = try await lab.download()
        #expect(download.resumes == 4 && download.size == 500_000)
        #expect(lab.ranges == [nil] + [String?](repeating: "bytes=300000-", count: 4))
        #expect(lab.folder.data("f") == Data(DownloadTests.whole))

        lab.options.resumes = 2
        lab.server.withLockedValue { $0 = server }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .unexpectedStatus)
        #expect(error?.message.contains("answered 502: 300000 bytes are kept") == true, "\(error?.message ?? "")")
        #expect(lab.folder.names == ["f", "f.partial", "f.partial.json"])
        await lab.stop()
    }

    @Test(
        "a final status for the rest, or a wait that is too long, ends the download at once",
        arguments: [
            Reply.status(.notFound),
            // Longer than `RetryPolicy.maxRetryAfter`, and longer than the time that is left.
            Reply.status(.serviceUnavailable).adding(.retryAfter, "61"),
            Reply.status(.serviceUnavailable).adding(.retryAfter, "30"),
        ]
    )
    func finalStatus(_ refusal: Reply) async throws {
        var lab = try await Lab()
        var limits = TimeLimits()
        limits.total = .seconds(20)
        lab.options.request.limits = limits
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, absences: 1, absence: refusal) }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .unexpectedStatus)
        #expect(lab.ranges == [nil, "bytes=300000-"])
        #expect(lab.folder.names == ["f.partial", "f.partial.json"])
        await lab.stop()
    }

    @Test("a status without the resource replaces neither the file nor its part", arguments: [202, 204, 205])
    func statusWithoutFile(_ code: Int) async throws {
        let status = HTTPResponse.Status(code: code)
        let folder = try TemporaryFolder()
        let old = Data("old".utf8)
        try old.write(to: folder.url("f"))
        let site = try await LoopbackOrigin.start { _ in Reply(status: status) }
        let client = try plainClient()
        let first = await #expect(throws: BeelineError.self) {
            _ = try await client.download(site.url("/f"), to: folder.path("f"))
        }
        #expect(first?.code == .unexpectedStatus)
        #expect(folder.data("f") == old && folder.names == ["f"])
        await client.shutDown()
        await site.stop()

        let lab = try await Lab()
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, absences: 1, absence: Reply(status: status)) }
        let rest = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(rest?.code == .unexpectedStatus)
        #expect(lab.folder.data("f.partial")?.count == 300_000)
        #expect(lab.folder.names == ["f.partial", "f.partial.json"])
        await lab.stop()
    }

    @Test("a complete part is the file only if the refusal of the rest does not name another version")
    func refusalOfAnotherVersion() async throws {
        let lab = try await Lab()
        let other = Array(DownloadTests.whole.reversed())
        for (tag, content) in [("\"one\"", DownloadTests.whole), ("\"two\"", other)] {
            try Data(DownloadTests.whole).write(to: lab.folder.url("f.partial"))
            try DownloadNote(url: lab.site.url("/f"), fields: [.eTag: "\"one\""])?.write(
                to: lab.folder.path("f.partial.json")
            )
            lab.server.withLockedValue {
                $0 = Server(tag: tag, ignoresIfRange: true, refusalHasTag: true, content: content)
            }
            #expect(try await lab.download().size == 500_000)
            #expect(lab.folder.data("f") == Data(content) && lab.folder.names == ["f"])
        }
        #expect(lab.ranges == ["bytes=500000-", "bytes=500000-", nil])
        await lab.stop()
    }

    @Test(
        "a part whose Content-Range is not valid is not joined to the file (RFC 9110 §14.4)",
        arguments: [
            "bytes 1000-499/500000", "bytes 1000-499999/2000", "bytes 1000-499999/many", "bytes 1000-/500000",
            "bytes 1000-499999", "bytes 1000-499999/-9223372036854775808",
        ]
    )
    func invalidContentRange(_ range: String) async throws {
        let lab = try await Lab()
        try Data(DownloadTests.whole.prefix(1000)).write(to: lab.folder.url("f.partial"))
        try DownloadNote(url: lab.site.url("/f"), fields: [.eTag: "\"one\""])?.write(
            to: lab.folder.path("f.partial.json")
        )
        lab.server.withLockedValue { $0.range = range }
        let download = try await lab.download()
        #expect(lab.ranges == ["bytes=1000-", nil])
        #expect(download.size == 500_000 && download.resumedFrom == 0)
        #expect(lab.folder.data("f") == Data(DownloadTests.whole) && lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("a Range and an If-Range of the caller are not sent")
    func ownRange() async throws {
        let lab = try await Lab()
        let download = try await lab.download([.range: "bytes=1-", .ifRange: "\"one\"", .accept: "a/b"])
        #expect(download.size == 500_000 && lab.folder.data("f") == Data(DownloadTests.whole))
        let request = try #require(lab.site.requests.first)
        #expect(request.fields[.range] == nil && request.fields[.ifRange] == nil)
        #expect(request.fields[.accept] == "a/b")
        await lab.stop()
    }

    @Test("a download that ends without a byte leaves no note behind")
    func noteWithoutBytes() async throws {
        var lab = try await Lab()
        lab.options.resumes = 1
        lab.server.withLockedValue { $0.breaksAt = 0 }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .connectionLost)
        #expect(lab.ranges == [nil, nil], "the first response had a validator")
        #expect(lab.folder.names.isEmpty)
        await lab.stop()
    }

    @Test("a partial file that was deleted and created anew by another download is not moved into place")
    func replacedPart() async throws {
        let gate = Gate()
        let folder = try TemporaryFolder()
        let site = try await LoopbackOrigin.start { _ in Reply(body: [.zeros(300_000), .wait(gate), "end"]) }
        let client = try plainClient()
        let (written, write) = AsyncStream.makeStream(of: Int64.self)
        var options = DownloadOptions()
        options.progress = { write.yield($0.transferred) }
        let download = Task { [options] in
            try await client.download(site.url("/f"), to: folder.path("f"), options: options)
        }
        _ = await written.first { _ in true }
        try FileManager.default.removeItem(at: folder.url("f.partial"))
        let other = Data("of another download".utf8)
        try other.write(to: folder.url("f.partial"))
        gate.open()
        let error = await #expect(throws: BeelineError.self) { _ = try await download.value }
        #expect(error?.code == .fileFailed && error?.message.contains("replaced") == true)
        #expect(folder.names == ["f.partial"] && folder.data("f.partial") == other)
        await client.shutDown()
        await site.stop()
    }

    @Test("a download without a byte does not remove the partial file that another download has created anew")
    func replacedEmptyPart() throws {
        let folder = try TemporaryFolder()
        let file = try PartialFile(folder.path("f.partial"))
        try FileManager.default.removeItem(at: folder.url("f.partial"))
        let other = try PartialFile(folder.path("f.partial"))
        try Data("{}".utf8).write(to: folder.url("f.partial.json"))
        file.abandon(note: folder.path("f.partial.json"))
        #expect(folder.names == ["f.partial", "f.partial.json"])
        other.abandon(note: folder.path("f.partial.json"))
        #expect(folder.names.isEmpty)
    }
}
