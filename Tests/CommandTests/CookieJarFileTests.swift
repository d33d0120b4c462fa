// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Cookies live in files between runs, and secrets stay where they belong.
    struct CookieJarFileTests {
        @Test(arguments: ["jar.txt", "jar.json", "jar.sqlite"])
        func whoLoggedInStaysLoggedIn(_ jar: String) async throws {
            let lab = try await CommandLab()
            let login = ["--jar", jar, "-d", "user=anna&password=anna", lab.url("a.test", "/login")]
            #expect(try await lab.beeline(lab.names + login).text == "welcome anna\n")
            let me = try await lab.beeline(lab.names + ["--jar", jar, lab.url("a.test", "/me")])
            #expect(me.text == "anna\n" && me.status == 0)
            // Another name on the same address is another site.
            #expect(
                try await lab.beeline(lab.names + ["--jar", jar, lab.url("b.test", "/me")]).text == "log in first\n"
            )
            #expect(
                try await lab.beeline(lab.names + ["--jar", jar, "--no-cookies", lab.url("a.test", "/me")]).text
                    == "log in first\n"
            )
            let permissions = try FileManager.default.attributesOfItem(atPath: "\(lab.folder.path)/\(jar)")[
                .posixPermissions
            ]
            #expect(permissions as? Int == 0o600)
            await lab.stop()
        }

        @Test func aPipeIsWrittenToAndNotReplacedByAFile() async throws {
            let lab = try await CommandLab()
            let pipe = "\(lab.folder.path)/pipe"
            try #require(mkfifo(pipe, 0o600) == 0)
            // Open for both, so that neither side waits for the other.
            let descriptor = open(pipe, O_RDWR | O_NONBLOCK)
            defer { close(descriptor) }
            let url = lab.plainURL("/set-cookie?value=a%3Db")
            #expect(try await lab.beeline(["-c", pipe, url]).status == 0)
            var octets = [UInt8](repeating: 0, count: 4096)
            let count = read(descriptor, &octets, octets.count)
            #expect(count > 0 && String(decoding: octets.prefix(max(count, 0)), as: UTF8.self).contains("\ta\tb"))
            var status = stat()
            #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
            await lab.stop()
        }

        @Test func theEnvironmentNamesAJar() async throws {
            let lab = try await CommandLab()
            let environment = ["BEELINE_JAR": "\(lab.folder.path)/env.txt"]
            let url = lab.plainURL("/set-cookie?value=a%3Db")
            #expect(try await lab.beeline([url], environment: environment).status == 0)
            #expect(try lab.folder.text("env.txt").contains("\ta\tb"))
            let echo = try await lab.beeline(["-c", "-", lab.plainURL("/status/200")], environment: environment)
            #expect(echo.text.contains("\ta\tb") && lab.plain.requests[1].cookies == ["a": "b"])
            await lab.stop()
        }

        @Test func aJarThatCannotBeWrittenIsTold() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["--jar", "no/where.txt", lab.plainURL("/status/200")])
            #expect(run.status == 23 && run.errors.contains("no/where.txt"))
            await lab.stop()
        }

        @Test func badLinesOfAJarAreToldByNumberAndTheRestIsKept() async throws {
            let lab = try await CommandLab()
            let good = ".a.test\tTRUE\t/\tFALSE\t0\tgood\t1\n"
            let jar = "# Netscape HTTP Cookie File\n\(good)no cookie\n.com\tTRUE\t/\tFALSE\t0\twide\t1\n"
            let commands = [
                ["cookies", "list"], ["cookies", "header", "http://a.test/"], ["cookies", "export"],
                ["cookies", "set", "http://b.test/", "x=1"], [lab.plainURL("/status/200")],
            ]
            for command in commands {
                try lab.folder.write(Data(jar.utf8), to: "jar.txt")
                let run = try await lab.beeline(command + ["--jar", "jar.txt"])
                #expect(run.status == 0 && run.errors.contains("jar.txt: line 3: "), "\(command): \(run.errors)")
                #expect(run.errors.contains("jar.txt: line 4: "), "\(command): \(run.errors)")
                #expect(try lab.folder.text("jar.txt").contains("\tgood\t1"))
            }
            await lab.stop()
        }

        @Test(arguments: ["notes.txt", "notes.json"])
        func aFileThatIsNoJarIsNotWrittenOver(_ name: String) async throws {
            let folder = try Folder()
            try folder.write(Data("root:x:0:0\n".utf8), to: name)
            for line in [["http://127.0.0.1:1/"], ["cookies", "clear"], ["cookies", "set", "a.test", "a=b"]] {
                let run = try await CommandRun.run(CommandRun.beeline, line + ["--jar", name], in: folder)
                #expect(run.status == 64 && run.errors.contains("the jar \(name) has no cookies"), "\(run.errors)")
                #expect(try folder.text(name) == "root:x:0:0\n")
            }
        }

        @Test func verboseOutputHasNoSecret() async throws {
            let lab = try await CommandLab { request in
                request.path == "/" ? .redirect(to: "/2").adding(.setCookie, "id=s3cret; HttpOnly") : .text("ok")
            }
            let line = ["-v", "-L", "-u", "me:s3cret", "-b", "own=s3cret", lab.url("a.test")]
            let run = try await lab.beeline(lab.names + line)
            #expect(run.status == 0 && run.text == "ok")
            #expect(!run.errors.contains("s3cret") && !run.errors.contains("bWU6"))
            let lines = run.errors.split(separator: "\n").map(String.init)
            #expect(lines.contains("> Cookie: own=…; id=…") && lines.contains("> Authorization: Basic …"))
            #expect(lines.contains("< Set-Cookie: id=…; HttpOnly") && lines.contains("* Cookie id: kept"))
            #expect(lines.contains { $0.hasPrefix("* a.test is at 127.0.0.2, 127.0.0.1, says dnspod:") })
            #expect(lines.contains { $0.hasPrefix("* Connected to 127.0.0.2:\(lab.site.port) for https://a.test:") })
            #expect(lines.contains { $0.hasPrefix("* Using the connection to") })
            await lab.stop()
        }
    }
}
