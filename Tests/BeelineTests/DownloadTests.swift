// SPDX-License-Identifier: Apache-2.0

import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import Beeline

@Suite("Downloads to a file, with resume and an atomic rename", .timeLimit(.minutes(1)))
struct DownloadTests {
    static let whole = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// The present behaviour of the server.
    struct Server: Sendable {
        var tag: String? = "\"one\""
        var lastModified: String?
        var knowsRanges = true
        var ignoresIfRange = false
        /// The number of bytes after which a response breaks off; nil: none breaks off.
        var breaksAt: Int?
        /// The largest part that the server sends, whatever the range; nil: no limit.
        var largestPart: Int?
        /// The number of range requests that get no response, or `absence`.
        var absences = 0
        var absence: Reply?
        /// The length that Content-Range claims; nil: the true length.
        var claim: Int64?
        /// The number of bytes that a part sends beyond the end of its range.
        var excess = 0
        /// Whether a 416 response tells the size, and whether it has the ETag.
        var tellsSize = true
        var refusalHasTag = false
        /// Whether the Content-Range of a part tells the size.
        var partsTellSize = true
        /// The Content-Range of a part; nil: the right one.
        var range: String?
        var content = DownloadTests.whole
    }

    static func reply(_ request: ReceivedRequest, _ server: inout Server) -> Reply {
        var start = 0
        if request.fields[.range] != nil, server.absences > 0 {
            server.absences -= 1
            return server.absence ?? .raw(ending: .hangUp)
        }
        let isUnchanged = request.fields[.ifRange] == server.tag ?? server.lastModified
        if server.knowsRanges, let range = request.fields[.range], isUnchanged || server.ignoresIfRange {
            start = Int(range.dropFirst(6).prefix { $0 != "-" }) ?? 0
        }
        guard start < server.content.count else {
            var fields: HTTPFields = server.tellsSize ? [.contentRange: "bytes */\(server.content.count)"] : [:]
            if server.refusalHasTag { fields[.eTag] = server.tag }
            return Reply(status: .rangeNotSatisfiable, fields: fields)
        }
        let rest = Array(server.content[start...].prefix(start > 0 ? server.largestPart ?? .max : .max))
        var reply = Reply(status: start > 0 ? .partialContent : .ok)
        if let tag = server.tag { reply.fields[.eTag] = tag }
        if let modified = server.lastModified {
            reply.fields[.lastModified] = modified
            reply.fields[.date] = "Mon, 07 Nov 1994 08:49:37 GMT"
        }
        if start > 0 {
            let size = server.partsTellSize ? "\(server.content.count)" : "*"
            reply.fields[.contentRange] = server.range ?? "bytes \(start)-\(start + rest.count - 1)/\(size)"
        }
        reply.fields[.contentLength] = "\(rest.count)"
        reply.body = [.bytes(rest)]
        if let limit = server.breaksAt, limit < rest.count {
            reply.body = [.bytes(Array(rest.prefix(limit)))]
            reply.ending = .hangUp
        }
        if start > 0, server.excess > 0 {
            reply.fields[.contentLength] = nil
            reply.framing = .chunked
            reply.body.append(.zeros(server.excess))
        }
        if start > 0, let claim = server.claim {
            reply.fields[.contentLength] = "\(claim)"
            reply.ending = .hangUp
        }
        return reply
    }

    struct Lab {
        let folder: TemporaryFolder
        let server = NIOLockedValueBox(Server())
        let site: LoopbackOrigin
        let client: BeelineClient
        var options = DownloadOptions()

        init() async throws {
            folder = try TemporaryFolder()
            let server = server
            site = try await LoopbackOrigin.start { request in
                server.withLockedValue { DownloadTests.reply(request, &$0) }
            }
            client = try plainClient()
            options.backoff.first = .zero
        }

        func download(_ fields: HTTPFields = [:]) async throws -> Download {
            try await client.download(site.url("/f"), to: folder.path("f"), fields: fields, options: options)
        }

        var ranges: [String?] { site.requests.map { $0.fields[.range] } }

        func stop() async {
            await client.shutDown()
            await site.stop()
        }
    }

    @Test("a download leaves the complete file and no other, and its progress reaches the end")
    func plain() async throws {
        var lab = try await Lab()
        let seen = NIOLockedValueBox<[TransferProgress]>([])
        lab.options.progress = { progress in seen.withLockedValue { $0.append(progress) } }
        try Data("old".utf8).write(to: lab.folder.url("f"))
        let download = try await lab.download()
        #expect(download.size == 500_000 && download.resumedFrom == 0 && download.resumes == 0)
        #expect(lab.folder.data("f") == Data(Self.whole))
        #expect(lab.folder.names == ["f"])
        let all = seen.withLockedValue { $0 }
        #expect(all.last == TransferProgress(transferred: 500_000, total: 500_000) && all.last?.fraction == 1)
        #expect(lab.site.requests[0].fields[.acceptEncoding] == "identity")
        await lab.stop()
    }

    @Test("a download that breaks off resumes where it stopped, up to the number of resumes allowed")
    func breaks() async throws {
        var lab = try await Lab()
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        let download = try await lab.download()
        #expect(download.resumes == 2 && download.size == 500_000)
        #expect(lab.ranges == [nil, "bytes=200000-", "bytes=400000-"])
        #expect(lab.site.requests.last?.fields[.ifRange] == "\"one\"")
        #expect(lab.folder.data("f") == Data(Self.whole))

        lab.options.resumes = 1
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .connectionLost)
        #expect(error?.message.contains("400000 bytes are kept") == true, "\(error?.message ?? "")")
        #expect(
            lab.folder.names == ["f", "f.partial", "f.partial.json"],
            "the old file stands until the new one is whole"
        )
        // A later download, for instance by another process, resumes.
        lab.server.withLockedValue { $0.breaksAt = nil }
        let later = try await lab.download()
        #expect(later.resumedFrom == 400_000 && later.size == 500_000)
        #expect(lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("a failed request for the rest counts as a resume, because the network may be away for several waits")
    func absentServer() async throws {
        var lab = try await Lab()
        lab.options.request.retry = .off
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, absences: 3) }
        let download = try await lab.download()
        #expect(download.resumes == 4 && download.size == 500_000 && download.resumedFrom == 0)
        #expect(lab.ranges == [nil] + [String?](repeating: "bytes=300000-", count: 4))
        #expect(lab.folder.data("f") == Data(Self.whole))

        lab.options.resumes = 2
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, absences: 3) }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .connectionLost)
        #expect(lab.folder.names == ["f", "f.partial", "f.partial.json"])
        await lab.stop()
    }

    @Test("an HTTP/2 stream that is reset during the body resumes, like a lost connection")
    func resetStream() async throws {
        let folder = try TemporaryFolder()
        let server = NIOLockedValueBox(Server(breaksAt: 200_000))
        let lab = try await ClientLab(protocols: ["h2"]) { request in
            var reply = server.withLockedValue { DownloadTests.reply(request, &$0) }
            if reply.ending == .hangUp { reply.ending = .reset }
            return reply
        }
        var options = DownloadOptions()
        options.backoff.first = .zero
        let download = try await lab.client.download(lab.url("a.test", "/f"), to: folder.path("f"), options: options)
        #expect(download.resumes == 2 && download.size == 500_000)
        #expect(folder.data("f") == Data(Self.whole))
        await lab.stop()
    }

    @Test("a part that claims an impossible length does not trap, and the total is that of its range")
    func endlessPart() async throws {
        var lab = try await Lab()
        let seen = NIOLockedValueBox<[TransferProgress]>([])
        lab.options.progress = { progress in seen.withLockedValue { $0.append(progress) } }
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, claim: .max) }
        let download = try await lab.download()
        #expect(lab.ranges == [nil, "bytes=300000-", "bytes=500000-"], "the announced bytes did not arrive")
        #expect(download.size == 500_000)
        #expect(lab.folder.data("f") == Data(Self.whole))
        #expect(seen.withLockedValue { $0.last } == TransferProgress(transferred: 500_000, total: 500_000))
        await lab.stop()
    }

    @Test("a server that sends the rest in tiny parts is given up after the resumes allowed")
    func tinyParts() async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        _ = try? await lab.download()
        lab.server.withLockedValue { $0 = Server(largestPart: 10) }
        lab.options.resumes = 3
        let before = lab.site.requests.count
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .rangeMismatch)
        #expect(lab.site.requests.count == before + 4)
        #expect(lab.folder.names == ["f.partial", "f.partial.json"], "the received bytes are kept")
        await lab.stop()
    }

    @Test("a part longer than its range is refused, and the file is not moved into place")
    func longPart() async throws {
        let lab = try await Lab()
        lab.server.withLockedValue { $0 = Server(breaksAt: 300_000, excess: 90) }
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .rangeMismatch)
        #expect(lab.folder.names == ["f.partial", "f.partial.json"])
        #expect(ResumeDecision.length("bytes 0-9223372036854775807/*") == nil)
        #expect(ResumeDecision.length("bytes 0-9223372036854775806/*") == .max)
        #expect(ResumeDecision.length("bytes 10-9/20") == nil && ResumeDecision.length("bytes */20") == nil)
        await lab.stop()
    }

    @Test("a cancelled download throws, keeps the bytes received, and leaves no file if there are none")
    func cancelled() async throws {
        let gate = Gate()
        let folder = try TemporaryFolder()
        let site = try await LoopbackOrigin.start { request in
            if request.path == "/silent" { try await gate.wait() }
            let fields: HTTPFields = [.eTag: "\"one\"", .contentLength: "500000"]
            return Reply(fields: fields, body: [.bytes(Array(Self.whole.prefix(300_000))), .wait(gate)])
        }
        let client = try plainClient()
        let (written, write) = AsyncStream.makeStream(of: Int64.self)
        var options = DownloadOptions()
        options.progress = { write.yield($0.transferred) }
        for (path, count) in [("/silent", 1), ("/half", 2)] {
            let task = Task { [options] in
                try await client.download(site.url(path), to: folder.path("f"), options: options)
            }
            try await gate.arrivals(atLeast: count)
            if path == "/half" { _ = await written.first { _ in true } }
            task.cancel()
            let error = await #expect(throws: BeelineError.self) { _ = try await task.value }
            #expect(error?.code == .cancelled)
            #expect(folder.names == (path == "/half" ? ["f.partial", "f.partial.json"] : []))
        }
        #expect(
            folder.data("f.partial").map { $0.count >= 256 * 1024 && $0.elementsEqual(Self.whole.prefix($0.count)) }
                == true
        )
        await client.shutDown()
        await site.stop()
    }

    @Test("a part of an older version is discarded, and the whole file is downloaded again")
    func changed() async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        _ = try? await lab.download()
        lab.server.withLockedValue { $0 = Server(tag: "\"two\"", content: Array(Self.whole.reversed())) }
        let download = try await lab.download()
        #expect(lab.ranges.last == "bytes=200000-", "the range was requested, and If-Range refused it")
        #expect(download.resumedFrom == 0)
        #expect(lab.folder.data("f") == Data(Self.whole.reversed()))
        await lab.stop()
    }

    @Test("a part with another Last-Modified is not joined to the file, even if the server ignores If-Range")
    func changedDate() async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        lab.server.withLockedValue { $0 = Server(tag: nil, lastModified: date, breaksAt: 200_000) }
        for _ in 0..<2 { _ = try? await lab.download() }
        lab.server.withLockedValue {
            let later = "Sun, 06 Nov 1994 09:49:37 GMT"
            let content = Array(Self.whole.reversed())
            $0 = Server(tag: nil, lastModified: later, ignoresIfRange: true, content: content)
        }
        let download = try await lab.download()
        #expect(lab.ranges == [nil, "bytes=200000-", "bytes=400000-", nil])
        #expect(lab.site.requests[2].fields[.ifRange] == date)
        #expect(download.size == 500_000 && download.resumedFrom == 0)
        #expect(lab.folder.data("f") == Data(Self.whole.reversed()))
        await lab.stop()
    }

    @Test("bytes of an older version that were discarded do not count as resumed, even if the new one breaks off")
    func discardedBytes() async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        _ = try? await lab.download()
        lab.options.resumes = 1
        lab.server.withLockedValue { $0 = Server(tag: "\"two\"", breaksAt: 300_000) }
        let download = try await lab.download()
        #expect(download.size == 500_000 && download.resumes == 1 && download.resumedFrom == 0)
        #expect(lab.ranges.suffix(2) == ["bytes=200000-", "bytes=300000-"])
        await lab.stop()
    }

    @Test(
        "a server without ranges sends the whole file, and one without a strong validator gets no range requests"
    )
    func withoutRanges() async throws {
        var lab = try await Lab()
        lab.options.resumes = 1
        lab.server.withLockedValue { $0 = Server(knowsRanges: false, breaksAt: 300_000) }
        _ = try? await lab.download()
        lab.server.withLockedValue { $0.breaksAt = nil }
        #expect(try await lab.download().size == 500_000)
        #expect(lab.folder.data("f") == Data(Self.whole))

        for tag in ["W/\"weak\"", nil] {
            lab.server.withLockedValue { $0 = Server(tag: tag, breaksAt: 300_000) }
            let before = lab.site.requests.count
            let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
            #expect(error?.code == .connectionLost)
            #expect(lab.site.requests.count == before + 1)
            #expect(lab.ranges.last == .some(nil))
        }
        await lab.stop()
    }

    @Test("a complete part needs no further bytes and is moved into place")
    func complete() async throws {
        let lab = try await Lab()
        try Data(Self.whole).write(to: lab.folder.url("f.partial"))
        try DownloadNote(url: lab.site.url("/f"), fields: [.eTag: "\"one\""])?.write(
            to: lab.folder.path("f.partial.json")
        )
        #expect(try await lab.download().size == 500_000)
        #expect(lab.folder.data("f") == Data(Self.whole) && lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("a server that sends less than the requested range is asked for the rest")
    func smallParts() async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        _ = try? await lab.download()
        lab.server.withLockedValue { $0 = Server(largestPart: 120_000) }
        let seen = NIOLockedValueBox<[TransferProgress]>([])
        lab.options.progress = { progress in seen.withLockedValue { $0.append(progress) } }
        let download = try await lab.download()
        #expect(download.size == 500_000 && download.resumedFrom == 200_000 && download.resumes == 0)
        #expect(lab.ranges.suffix(3) == ["bytes=200000-", "bytes=320000-", "bytes=440000-"])
        let reports = seen.withLockedValue { $0 }
        #expect(reports.allSatisfy { $0.total == 500_000 } && reports.last?.fraction == 1)
        #expect(reports.filter { $0.fraction == 1 }.count == 1, "a part is not the whole")
        #expect(lab.folder.data("f") == Data(Self.whole) && lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("a part without a size is not taken for the end of the file", arguments: [true, false])
    func openParts(tellsSize: Bool) async throws {
        var lab = try await Lab()
        lab.options.resumes = 0
        lab.server.withLockedValue { $0.breaksAt = 200_000 }
        _ = try? await lab.download()
        lab.server.withLockedValue {
            $0 = Server(largestPart: 120_000, tellsSize: tellsSize, partsTellSize: false)
        }
        let seen = NIOLockedValueBox<[TransferProgress]>([])
        lab.options.progress = { progress in seen.withLockedValue { $0.append(progress) } }
        let download = try await lab.download()
        #expect(download.size == 500_000 && download.resumedFrom == 200_000 && download.resumes == 0)
        #expect(lab.ranges.suffix(4) == ["bytes=200000-", "bytes=320000-", "bytes=440000-", "bytes=500000-"])
        #expect(seen.withLockedValue { !$0.isEmpty && $0.allSatisfy { $0.total == nil } })
        #expect(lab.folder.data("f") == Data(Self.whole) && lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("a 416 response without a size does not make a part the complete file")
    func refusedWithoutSize() async throws {
        let lab = try await Lab()
        lab.server.withLockedValue { $0 = Server(tellsSize: false, content: Array(Self.whole.prefix(1000))) }
        try Data(Self.whole).write(to: lab.folder.url("f.partial"))
        try DownloadNote(url: lab.site.url("/f"), fields: [.eTag: "\"one\""])?.write(
            to: lab.folder.path("f.partial.json")
        )
        #expect(try await lab.download().size == 1000)
        #expect(lab.folder.data("f") == Data(Self.whole.prefix(1000)) && lab.folder.names == ["f"])
        await lab.stop()
    }

    @Test("an error status writes no file, and a second concurrent download to the same file is refused")
    func errors() async throws {
        let gate = Gate()
        let folder = try TemporaryFolder()
        let site = try await LoopbackOrigin.start { request in
            guard request.path == "/slow" else { return .text("gone", status: .notFound) }
            return Reply(body: ["a", .wait(gate), "b"])
        }
        let client = try plainClient()
        let missing = await #expect(throws: BeelineError.self) {
            try await client.download(site.url("/404"), to: folder.path("x"))
        }
        #expect(missing?.code == .unexpectedStatus && missing?.message.contains("404") == true)
        #expect(folder.names.isEmpty)
        async let slow = client.download(site.url("/slow"), to: folder.path("y"))
        try await gate.arrivals(atLeast: 1)
        let busy = await #expect(throws: BeelineError.self) {
            try await client.download(site.url("/slow"), to: folder.path("y"))
        }
        #expect(busy?.code == .fileFailed)
        gate.open()
        #expect(try await slow.size == 2)
        for path in [folder.path("no/such/folder"), ""] {
            let nowhere = await #expect(throws: BeelineError.self) {
                try await client.download(site.url("/slow"), to: path)
            }
            #expect(nowhere?.code == .fileFailed)
        }
        #expect(site.requests.count == 2, "nothing is requested without a place for it")
        await client.shutDown()
        await site.stop()
    }

    @Test(
        "a file that is not regular is an error, and is neither waited for nor replaced",
        arguments: ["f", "f.partial", "f.partial.json"]
    )
    func specialFiles(_ name: String) async throws {
        let lab = try await Lab()
        #expect(mkfifo(lab.folder.path(name), 0o600) == 0)
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .fileFailed)
        #expect(error?.message.contains("not a regular file") == true)
        #expect(lab.folder.names == [name])
        #expect(lab.site.requests.isEmpty)
        await lab.stop()
    }

    @Test("a symbolic link in place of the partial file is not followed")
    func linkForThePart() async throws {
        let lab = try await Lab()
        let victim = Data("kept".utf8)
        try victim.write(to: URL(fileURLWithPath: lab.folder.path("victim")))
        try FileManager.default.createSymbolicLink(
            atPath: lab.folder.path("f.partial"),
            withDestinationPath: lab.folder.path("victim")
        )
        let error = await #expect(throws: BeelineError.self) { _ = try await lab.download() }
        #expect(error?.code == .fileFailed)
        #expect(try Data(contentsOf: URL(fileURLWithPath: lab.folder.path("victim"))) == victim)
        #expect(lab.folder.names == ["f.partial", "victim"])
        await lab.stop()
    }

    static let notes: [(String, HTTPFields, String?)] = [
        ("a strong tag", [.eTag: "\"x\""], "\"x\""), ("a weak tag", [.eTag: "W/\"x\""], nil),
        ("nothing", [:], nil),
        (
            "a date that is old enough",
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:50:37 GMT"],
            "Sun, 06 Nov 1994 08:49:37 GMT"
        ),
        (
            "a date that is too fresh",
            [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:50:36 GMT"], nil
        ),
        ("a Last-Modified without Date", [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
    ]

    @Test("only strong validators allow range requests (RFC 9110 §8.8)", arguments: notes)
    func validators(_ row: (String, HTTPFields, String?)) {
        #expect(DownloadNote(url: "u", fields: row.1)?.validator == row.2, "\(row.0)")
    }

    static let decisions: [(Int, String?, ResumeDecision)] = [
        (206, "bytes 100-199/200", .append),
        (206, "bytes 99-199/200", .mismatch("the server sends byte 99 instead of byte 100")),
        (206, nil, .mismatch("the server sends an unknown range instead of byte 100")), (200, nil, .restart),
        (416, "bytes */100", .complete), (416, nil, .complete),
        (416, "bytes */99", .mismatch("the resource has only 99 bytes, so it cannot be resumed at byte 100")),
        (416, "bytes */200", .mismatch("the server refuses to resume at byte 100 of 200")),
        (404, nil, .refused(status: 404)), (302, nil, .refused(status: 302)),
    ]

    @Test("a response to a resume at byte 100 continues, restarts, completes or fails it", arguments: decisions)
    func resume(_ row: (Int, String?, ResumeDecision)) {
        #expect(ResumeDecision(status: row.0, contentRange: row.1, offset: 100) == row.2)
    }
}
