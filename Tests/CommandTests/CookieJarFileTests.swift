// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Jar files keep cookies between runs, and output hides secrets.
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

        @Test("-c, --jar and --hsts keep the permissions of a file, and a new file is private")
        func permissionsOfFiles() async throws {
            let lab = try await CommandLab { _ in .text("ok").adding(.setCookie, "a=b; Max-Age=60") }
            for option in ["-c", "--jar", "--hsts"] {
                let (old, new) = ("old\(option)", "new\(option)")
                let path = try lab.folder.write("", to: old)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
                for (file, expected) in [(old, 0o644), (new, 0o600)] {
                    let run = try await lab.beeline(["-s", option, file, lab.plainURL()])
                    #expect(run.status == 0, "\(run.errors)")
                    guard lab.folder.has(file) else { continue }
                    let attributes = try FileManager.default.attributesOfItem(atPath: "\(lab.folder.path)/\(file)")
                    #expect(attributes[.posixPermissions] as? Int == expected, "\(file)")
                }
            }
            #expect(lab.folder.has("new-c") && lab.folder.has("new--jar"))
            await lab.stop()
        }

        @Test("-c leaves out a cookie with a tab in its value, which curl would cut there, and --jar keeps it")
        func tabInAValue() async throws {
            let lab = try await CommandLab { _ in
                Reply.text("").adding(.setCookie, "a=one\ttwo").adding(.setCookie, "b=whole")
            }
            let run = try await lab.beeline(["-s", "--jar", "jar.txt", "-c", "curl.txt", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            let curls = try lab.folder.text("curl.txt")
            #expect(curls.contains("\tb\twhole\n") && !curls.contains("\ta\t"), "\(curls)")
            let own = try lab.folder.text("jar.txt")
            #expect(own.contains("\tb\twhole\n") && own.contains("\ta\tone\ttwo\n"), "\(own)")
            #expect(try await lab.beeline(["-s", "--jar", "jar.txt", lab.plainURL()]).status == 0)
            #expect(lab.plain.requests.last?.fields[.cookie]?.contains("a=one\ttwo") == true)
            await lab.stop()
        }

        @Test func aPipeIsWrittenToAndNotReplacedByAFile() async throws {
            let lab = try await CommandLab()
            let pipe = "\(lab.folder.path)/pipe"
            try #require(mkfifo(pipe, 0o600) == 0)
            // Opened for reading and writing, so that neither side waits for the other.
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

        @Test(
            "a jar at the path of an open descriptor is written after the file's content and does not replace the file",
            arguments: ["/dev/fd/1", "/dev/fd/2", "/dev/fd/3", "stdout", "link"]
        )
        func aFileBehindADescriptorIsKept(_ path: String) async throws {
            let lab = try await CommandLab { _ in .text("body\n").adding(.setCookie, "a=b") }
            let script = """
                ln -s /dev/fd/1 stdout; ln -s stdout link
                { echo before; "$0" -s -c "$1" "$2"; echo "$?"; } >all 2>&1 3>&1
                """
            let run = try await CommandRun.run(
                "/bin/sh",
                ["-c", script, CommandRun.beeline, path, lab.plainURL()],
                in: lab.folder
            )
            let lines = try lab.folder.text("all").split(separator: "\n")
            #expect(run.status == 0 && lines.starts(with: ["before", "body"]) && lines.last == "0", "\(lines)")
            #expect(lines.contains { $0.hasSuffix("\ta\tb") }, "\(lines)")
            await lab.stop()
        }

        @Test("a jar at the path of a descriptor that the shell did not open is an error, and goes into no socket")
        func descriptorOfNoFile() async throws {
            let lab = try await CommandLab { _ in .text("body\n").adding(.setCookie, "a=b") }
            let script = """
                n=10; while [ $n -le 30 ]; do "$0" -s -c /dev/fd/$n "$1" >/dev/null 2>&1 && echo $n; n=$((n + 1)); done
                """
            let run = try await CommandRun.run(
                "/bin/sh",
                ["-c", script, CommandRun.beeline, lab.plainURL()],
                in: lab.folder
            )
            #expect(run.text.isEmpty, "\(run.text)")
            await lab.stop()
        }

        @Test("a shorter jar leaves no old cookies in a file that is open for reading and writing")
        func descriptorForReadingAndWriting() async throws {
            let folder = try Folder()
            try folder.write(Self.jar(20), to: "jar.txt")
            let script = #"exec "$0" cookies clear --jar /dev/fd/3 3<>jar.txt"#
            let run = try await CommandRun.run("/bin/sh", ["-c", script, CommandRun.beeline], in: folder)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try !folder.text("jar.txt").contains(".test\t"))
        }

        /// A Netscape file with one cookie for each of `count` domains.
        private static func jar(_ count: Int) -> String {
            (0..<count).map { "d\($0).test\tFALSE\t/\tFALSE\t4102444800\tn\tv\n" }.joined()
        }

        @Test func cookiesThatFindNoRoomAreCountedAndTold() async throws {
            let folder = try Folder()
            try folder.write(Self.jar(3_500), to: "large.txt")
            for jar in ["new.txt", "new.sqlite"] {
                let line = ["cookies", "import", "large.txt", "--jar", jar]
                let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
                let counts = run.text.split { !$0.isNumber }.compactMap { Int($0) }
                #expect(run.status == 0 && counts.count == 2 && counts.reduce(0, +) == 3_500, "\(run.text)")
                #expect(run.errors.contains("large.txt: \(counts.last ?? 0) cookies were dropped"), "\(run.errors)")
                #expect(run.errors.contains("--max-cookies") && run.errors.filter(\.isNewline).count == 1)
                let list = try await CommandRun.run(CommandRun.beeline, ["cookies", "list", "--jar", jar], in: folder)
                #expect(list.text.split(separator: "\n").count == counts.first)
                let all = try await CommandRun.run(
                    CommandRun.beeline,
                    ["cookies", "import", "large.txt", "--jar", "all-" + jar, "--max-cookies", "4000"],
                    in: folder
                )
                #expect(all.text == "imported 3500, skipped 0\n" && all.errors.isEmpty, "\(all.text)\(all.errors)")
            }
        }

        @Test func aTextJarThatLosesCookiesSaysSoAndWithAnOptionLosesNone() async throws {
            let lab = try await CommandLab()
            let commands = [
                ["cookies", "set", "http://b.test/", "x=1"], ["-s", lab.plainURL("/status/200")],
                ["cookies", "export"], [lab.plainURL("/status/200"), "-b", "jar.txt"],
            ]
            for command in commands {
                try lab.folder.write(Self.jar(3_500), to: "jar.txt")
                let kept = try await lab.beeline(command + ["--max-cookies", "5000", "--jar", "jar.txt"])
                #expect(kept.status == 0 && kept.errors.isEmpty, "\(command): \(kept.errors)")
                #expect(try lab.folder.text("jar.txt").split(separator: "\n").count { $0.contains(".test\t") } >= 3_500)
                guard command.first != "-s" else { continue }
                let run = try await lab.beeline(command + ["--jar", "jar.txt"])
                #expect(run.errors.contains(" cookies were dropped: "), "\(command): \(run.errors)")
            }
            for wrong in ["0", "-1", "1000001"] {
                let run = try await lab.beeline(["cookies", "list", "--jar", "jar.txt", "--max-cookies=\(wrong)"])
                #expect(run.status == 64, "\(run.errors)")
            }
            await lab.stop()
        }

        @Test func controlsOfAValueAreNotSentToTheTerminal() async throws {
            let folder = try Folder()
            // U+009B begins a control sequence on a terminal, as ESC [ does.
            try folder.write("a.test\tFALSE\t/\tFALSE\t0\tn\tv\u{9b}31mx\n", to: "jar.txt")
            let list = try await CommandRun.run(
                CommandRun.beeline,
                ["cookies", "list", "--jar", "jar.txt"],
                in: folder
            )
            #expect(list.text.hasPrefix("a.test n=v 31mx") && !list.text.unicodeScalars.contains("\u{9b}"))
            for line in [["header", "http://a.test/"], ["export"], ["list", "--json"]] {
                let command = ["cookies"] + line + ["--jar", "jar.txt"]
                // A pipe gets the octets unchanged; a terminal gets no control characters.
                let plain = try await CommandRun.run(CommandRun.beeline, command, in: folder)
                #expect(
                    plain.text.unicodeScalars.contains("\u{9b}") || plain.text.contains("009b")
                        || plain.text.contains("009B")
                )
                let shown = try await PseudoTerminal.run([CommandRun.beeline] + command, in: folder)
                #expect(shown.status == 0 && !shown.text.unicodeScalars.contains("\u{9b}"), "\(line)")
            }
        }

        @Test func expiredCookiesAreSkippedByAnImport() async throws {
            let folder = try Folder()
            try folder.write(
                "a.test\tFALSE\t/\tFALSE\t1000000000\told\t1\na.test\tFALSE\t/\tFALSE\t0\tnew\t1\n",
                to: "some.txt"
            )
            let line = ["cookies", "import", "some.txt", "--jar", "jar.txt"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.text == "imported 1, skipped 1\n" && run.errors == "some.txt: line 1: it has expired\n")
        }

        @Test("a cookie of the jar's own file that has expired is no message, and is left out of the written file")
        func expiredInTheOwnFile() async throws {
            let folder = try Folder()
            let lines = ["a.test\tFALSE\t/\tFALSE\t1000000000\told\t1", "a.test\tFALSE\t/\tFALSE\t0\tnew\t1"]
            try folder.write(lines.joined(separator: "\n"), to: "jar.txt")
            for line in [["header", "http://a.test/"], ["set", "http://a.test/", "more=1"]] {
                let command = ["cookies"] + line + ["--jar", "jar.txt"]
                let run = try await CommandRun.run(CommandRun.beeline, command, in: folder)
                #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
            }
            let text = try folder.text("jar.txt")
            #expect(text.contains("\tnew\t1") && text.contains("\tmore\t1") && !text.contains("\told\t1"))
        }

        @Test("beeline open starts no browser for a jar that it could not write in the end")
        func openWithoutFolder() async throws {
            let folder = try Folder()
            let line = ["open", "https://a.test/", "--jar", "no/where.txt"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.status == 23 && run.errors.contains("no/where.txt: No such file"), "\(run.errors)")
        }

        @Test func aJarThatCannotBeWrittenLosesNoOtherOne() async throws {
            let lab = try await CommandLab()
            let url = lab.plainURL("/set-cookie?value=a%3Db")
            let run = try await lab.beeline(["--jar", "no/where.txt", "-c", "jar.txt", url])
            #expect(run.status == 23 && run.errors.contains("no/where.txt"), "\(run.errors)")
            #expect(try lab.folder.text("jar.txt").contains("\ta\tb"))
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

        @Test("a part without --jar does not replace the jar of another part by that of the environment")
        func jarOfAnotherPart() async throws {
            let lab = try await CommandLab()
            let environment = ["BEELINE_JAR": "\(lab.folder.path)/env.txt"]
            let (set, other) = (lab.plainURL("/set-cookie?value=a%3Db"), lab.plainURL("/status/200"))
            let line = ["--jar", "own.txt", set, "--next", other]
            #expect(try await lab.beeline(line, environment: environment).status == 0)
            #expect(try lab.folder.text("own.txt").contains("\ta\tb"))
            #expect(throws: (any Error).self) { try lab.folder.text("env.txt") }
            await lab.stop()
        }

        @Test func aJarThatCannotBeWrittenIsTold() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["--jar", "no/where.txt", lab.plainURL("/status/200")])
            #expect(run.status == 23 && run.errors.contains("no/where.txt"))
            await lab.stop()
        }

        @Test("a jar that is not there does not look like an empty one")
        func missingJar() async throws {
            let folder = try Folder()
            let line = ["cookies", "list", "--jar", "missing.txt"]
            let run = try await CommandRun.run(CommandRun.beeline, line, in: folder)
            #expect(run.status == 0 && run.text == "" && run.errors == "Note: there is no jar missing.txt\n")
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
                #expect(run.status == 64 && run.errors.contains("\(name) holds data other"), "\(run.errors)")
                #expect(try folder.text(name) == "root:x:0:0\n")
            }
        }

        @Test func verboseOutputHasNoTokenWithoutAScheme() async throws {
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-v", "-H", "Authorization: s3cret", lab.plainURL("/status/200")])
            #expect(run.status == 0 && !run.errors.contains("s3cret") && run.errors.contains("> Authorization: …\n"))
            await lab.stop()
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
            #expect(lines.contains("> Cookie: id=…; own=…") && lines.contains("> Authorization: Basic …"))
            #expect(lines.contains("< Set-Cookie: id=…; HttpOnly") && lines.contains("* Cookie id: kept"))
            #expect(lines.contains { $0.hasPrefix("* Resolved a.test to 127.0.0.2, 127.0.0.1 by dnspod:") })
            #expect(lines.contains { $0.hasPrefix("* Connected to 127.0.0.2:\(lab.site.port) for https://a.test:") })
            #expect(lines.contains { $0.hasPrefix("* Reusing the connection to") })
            await lab.stop()
        }
    }
}
