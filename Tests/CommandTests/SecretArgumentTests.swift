// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import BeelineCommand

@Suite("Secrets in the arguments of the process", .timeLimit(.minutes(1)))
struct SecretArgumentTests {
    /// A command line, and the same with `_` for each octet that is overwritten.
    static let rows: [(given: [String], shown: [String])] = [
        (["-u", "me:pw", "http://a.test/"], ["-u", "_____", "http://a.test/"]),
        (["-ume:pw", "-U", "p:w"], ["-u_____", "-U", "___"]),
        (["-sSLu", "me:pw"], ["-sSLu", "_____"]),
        (["-sSume:pw"], ["-sSu_____"]),
        (["-ou", "me:pw"], ["-ou", "me:pw"]),
        (["--user=me:pw", "--user", "me:pw"], ["--user=_____", "--user", "_____"]),
        (["--oauth2-bearer", "token", "--pass", "pw"], ["--oauth2-bearer", "_____", "--pass", "__"]),
        // Unique beginnings of names.
        (["--oauth2", "token", "--proxy-us=p:w"], ["--oauth2", "_____", "--proxy-us=___"]),
        (["--data", "me:pw", "--us", "me:pw"], ["--data", "me:pw", "--us", "_____"]),
        (["-H", "Authorization: Bearer t"], ["-H", "Authorization:_________"]),
        (["-HCookie:a=b", "-H", "Accept: a"], ["-HCookie:___", "-H", "Accept: a"]),
        (["-H", "X-Api-Key: 7", "-H", "@file"], ["-H", "X-Api-Key:__", "-H", "@file"]),
        (["-b", "a=b", "-b", "jar.txt"], ["-b", "___", "-b", "jar.txt"]),
        (["-x", "http://u:p@proxy:8080"], ["-x", "http://___@proxy:8080"]),
        (["-x", "u:p@proxy:8080", "--socks5", "u:p@q"], ["-x", "___@proxy:8080", "--socks5", "___@q"]),
        (["https://u:p@a.test/b@c?d@e"], ["https://___@a.test/b@c?d@e"]),
        (["https://u@a.test/", "u:p@a.test"], ["https://_@a.test/", "___@a.test"]),
        (["http://a.test/u:p@x", "me@a.test"], ["http://a.test/u:p@x", "me@a.test"]),
        (["-E", "cert.pem:phrase", "-E", "cert.pem"], ["-E", "cert.pem:______", "-E", "cert.pem"]),
        (["run", "--", "curl", "-u", "me:pw"], ["run", "--", "curl", "-u", "_____"]),
        (["-u"], ["-u"]),
        (["-u", "", "-", "--", "-uü"], ["-u", "", "-", "--", "-u__"]),
    ]

    @Test("the octets of arguments that are overwritten", arguments: rows)
    func places(_ row: (given: [String], shown: [String])) {
        let arguments = row.given.map { Array($0.utf8) }
        let shown = zip(arguments, SecretArguments.secrets(in: arguments)).map { argument, secret in
            var argument = argument
            for index in secret ?? 0..<0 { argument[index] = UInt8(ascii: "_") }
            return String(decoding: argument, as: UTF8.self)
        }
        #expect(shown == row.shown)
    }

    #if os(Linux)
    @Test("while the command waits for a server, its arguments show no secret, and the server receives them")
    func whileWaiting() async throws {
        let (arrived, gate) = (Gate(), Gate())
        let seen = NIOLockedValueBox<[String]>([])
        let site = try await LoopbackOrigin.start { request in
            seen.withLockedValue { $0 = [request.fields[.authorization] ?? "-", request.fields[.cookie] ?? "-"] }
            arrived.open()
            try await gate.wait()
            return .text("done")
        }
        let folder = try Folder()
        let arguments = [
            "-s", "-u", "me:secret", "-x", "", "-H", "X-Token: secret", "-b", "a=secret",
            "http://you:secret@\(site.endpoint)/", "--proxy-user", "ÿ:secret",
        ]
        let shown = NIOLockedValueBox("")
        let run = try await CommandRun.run(CommandRun.beeline, arguments, in: folder) { process in
            try await arrived.wait()
            let text = try String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
            shown.withLockedValue { $0 = text }
            gate.open()
        }
        #expect(run.status == 0 && run.text == "done", "\(run.errors)")
        #expect(shown.withLockedValue { $0 }.contains("X-Token:"))
        #expect(!shown.withLockedValue { $0 }.contains("secret"))
        #expect(seen.withLockedValue { $0 } == ["Basic bWU6c2VjcmV0", "a=secret"])
        await site.stop()
    }

    @Test("the program of beeline run keeps its own arguments")
    func program() async throws {
        let folder = try Folder()
        let script = "tr '\\0' ' ' </proc/$$/cmdline"
        let run = try await CommandRun.run(
            CommandRun.beeline,
            ["run", "--no-httpdns", "--", "/bin/sh", "-c", script, "x", "-u", "me:secret"],
            in: folder
        )
        #expect(run.text.contains("-u me:secret"), "\(run.errors)")
    }
    #endif
}
