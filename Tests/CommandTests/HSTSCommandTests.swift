// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

@Suite("--hsts", .timeLimit(.minutes(2)))
struct HSTSCommandTests {
    private static let handler: LoopbackOrigin.Handler = { request in
        let reply = Reply.text("\(request.connection.serverName ?? "plain")\n")
        return request.query["hsts"].map { reply.adding(.strictTransportSecurity, $0) } ?? reply
    }

    @Test("hosts are written to the file and read by the next command", arguments: ["hsts.txt", "hsts.sqlite"])
    func persistence(_ file: String) async throws {
        let lab = try await CommandLab(handler: Self.handler)
        let value = "max-age%3D1000;includeSubDomains"
        let first = try await lab.beeline(["-s", "--hsts", file, lab.url("a.test", "/?hsts=\(value)")] + lab.names)
        #expect(first.status == 0, "\(first.errors)")
        if file.hasSuffix(".txt") { #expect(try lab.folder.text(file).contains("\n.a.test \"20")) }
        let plain = "http://a.test:\(lab.site.port)/"
        let second = try await lab.beeline(["-s", "--report", "--hsts", file, plain] + lab.names)
        #expect(second.status == 0 && second.text == "a.test\n", "\(second.errors)")
        let report = try ReportView(second.errors)
        #expect(report["hops"][0]["hsts_upgrade"].isTrue == true)
        #expect(report["final_url"].text == lab.url("a.test"))
        // Without the file, the command speaks HTTP to a port with TLS.
        #expect(try await lab.beeline(["-s", plain] + lab.names).status != 0)
        await lab.stop()
    }

    @Test("a response without verification, or over http, changes nothing")
    func unverified() async throws {
        let lab = try await CommandLab(handler: Self.handler)
        let url = lab.url("a.test", "/?hsts=max-age%3D1000")
        #expect(try await lab.beeline(["-sk", "--hsts", "hsts.txt", url] + lab.names).status == 0)
        #expect(try !lab.folder.text("hsts.txt").contains("a.test"))
        await lab.stop()
    }

    @Test("expired hosts are not written again, and other data are not overwritten")
    func files() async throws {
        let lab = try await CommandLab(handler: Self.handler)
        try lab.folder.write("old.test \"20011001 04:47:41\"\n.new.test \"99991001 04:47:41\"\n", to: "hsts.txt")
        #expect(try await lab.beeline(["-s", "--hsts", "hsts.txt", lab.plainURL()]).status == 0)
        let text = try lab.folder.text("hsts.txt")
        #expect(text.contains("\n.new.test \"99991001 04:47:41\"\n") && !text.contains("old.test"))
        try lab.folder.write("a diary\n", to: "diary.txt")
        let run = try await lab.beeline(["-s", "-S", "--hsts", "diary.txt", lab.plainURL()])
        #expect(run.status == 64 && run.errors.contains("other data"))
        #expect(try lab.folder.text("diary.txt") == "a diary\n")
        await lab.stop()
    }

    @Test("a message says that an SQLite file is damaged and where it is kept")
    func damagedDatabase() async throws {
        let lab = try await CommandLab(handler: Self.handler)
        let line = ["--hsts", "hsts.sqlite", lab.plainURL()]
        #expect(try await lab.beeline(line).errors.isEmpty)
        try lab.folder.write(lab.folder.data("hsts.sqlite").prefix(5_000), to: "hsts.sqlite")
        let run = try await lab.beeline(line)
        let start = "beeline: --hsts: hsts.sqlite is damaged; it is kept as "
        #expect(run.status == 0 && run.errors.hasPrefix(start), "\(run.errors)")
        #expect(try await lab.beeline(line).errors.isEmpty)
        await lab.stop()
    }

    @Test("a file that cannot be read leaves no SQLite jar open")
    func unreadableFileClosesTheJar() async throws {
        let lab = try await CommandLab(handler: Self.handler)
        #expect(try await lab.beeline(["-s", "--jar", "jar.sqlite", lab.plainURL()]).status == 0)
        let run = try await lab.beeline(["--jar", "jar.sqlite", "--hsts", lab.folder.path, lab.plainURL()])
        #expect(run.status == 26 && lab.plain.requests.count == 1, "\(run.errors)")
        // An open jar keeps its log and its lock on the disk.
        #expect(lab.folder.has("jar.sqlite") && !lab.folder.has("jar.sqlite-wal") && !lab.folder.has("jar.sqlite-lock"))
        await lab.stop()
    }

    @Test("the URL of a failed request is the one with TLS")
    func failure() async throws {
        let lab = try await CommandLab(handler: Self.handler)
        try lab.folder.write(".test \"99991001 04:47:41\"\n", to: "hsts.txt")
        let refused = try RefusedEndpoint()
        let url = "http://a.test:\(refused.endpoint.port)/"
        let run = try await lab.beeline(
            ["-sS", "--hsts", "hsts.txt", "-w", "%{url_effective}", url] + lab.names
        )
        #expect(run.status == 7 && run.errors.contains("HSTS"), "\(run.errors)")
        #expect(run.text == "https://a.test:\(refused.endpoint.port)/")
        await lab.stop()
    }
}
