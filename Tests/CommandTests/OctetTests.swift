// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// Names and texts outside ASCII, and octets that are not UTF-8.
    struct OctetTests {
        @Test("-O names the file as the URL was typed, not as it is sent")
        func remoteNamesAreAsTyped() async throws {
            let lab = try await CommandLab { request in .text(request.target) }
            let rows: [(line: [String], file: String, target: String)] = [
                (["-O", lab.plainURL("/dl/报告.pdf?v=1/2")], "报告.pdf", "/dl/%E6%8A%A5%E5%91%8A.pdf?v=1/2"),
                (["-g", "-O", lab.plainURL("/a{1}.pdf")], "a{1}.pdf", "/a%7B1%7D.pdf"),
                (["-O", lab.plainURL("/b%20c/")], "b%20c", "/b%20c/"),
                (["-O", "127.0.0.1:\(lab.plain.port)/é#part"], "é", "/%C3%A9"),
                (["-O", "http:/127.0.0.1:\(lab.plain.port)/f"], "f", "/f"),
            ]
            for (line, file, target) in rows {
                let run = try await lab.beeline(["-s"] + line)
                #expect(run.status == 0, "\(run.errors)")
                #expect(lab.folder.has(file), "\(line)")
                guard lab.folder.has(file) else { continue }
                #expect(try lab.folder.text(file) == target)
            }
            let count = lab.plain.requests.count
            let skipped = try await lab.beeline(["-s", "--skip-existing", "-O", lab.plainURL("/dl/报告.pdf")])
            #expect(skipped.status == 0 && lab.plain.requests.count == count, "\(skipped.errors)")
            await lab.stop()
        }

        @Test("a line of a file that is not UTF-8 is refused with its number, and is not sent as U+FFFD")
        func otherOctetsInFiles() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let broken = Data("X-One: 1\nX-Two: caf".utf8) + Data([0xE9]) + Data("\n".utf8)
            try lab.folder.write(broken, to: "lines")
            let lines = [
                ["-H", "@lines"], ["--proxy-header", "@lines"], ["-F", "a=b;headers=@lines"],
                ["--etag-compare", "lines"], ["-w", "@lines"], ["@lines"],
            ]
            for line in lines {
                let run = try await lab.beeline(["-s", "-S"] + line + [lab.plainURL()])
                #expect(run.status == 64, "\(line): \(run.errors)")
                #expect(run.errors.contains("lines, line 2: the line is not UTF-8"), "\(line): \(run.errors)")
            }
            #expect(lab.plain.requests.isEmpty)
            let comment = Data("# caf".utf8) + Data([0xE9]) + Data("\n\(lab.plainURL("/listed"))\n".utf8)
            try lab.folder.write(comment, to: "urls")
            #expect(try await lab.beeline(["-s", "-o", "out", "@urls"]).status == 0)
            #expect(lab.plain.requests.last?.path == "/listed")
            await lab.stop()
        }

        @Test("a netrc file may have octets that are not UTF-8, except in the login that is used")
        func otherOctetsInLogins() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let options = [["-n"], ["--netrc-optional"], ["--netrc-file", ".netrc"]]
            let other = """
                machine 127.0.0.1 login me password secret # caf\u{E9}
                  # caf\u{E9}
                machine b.test login caf\u{E9} password caf\u{E9}
                macdef m
                caf\u{E9}

                """
            try lab.folder.write(try #require(other.data(using: .isoLatin1)), to: ".netrc")
            for option in options {
                let run = try await lab.beeline(["-s", "-S"] + option + [lab.plainURL()])
                #expect(run.status == 0, "\(option): \(run.errors)")
                #expect(lab.plain.requests.last?.fields[.authorization] == "Basic bWU6c2VjcmV0")
            }
            let count = lab.plain.requests.count
            let own = "machine 127.0.0.1 login me password caf\u{E9}\n"
            try lab.folder.write(try #require(own.data(using: .isoLatin1)), to: ".netrc")
            for option in options {
                let run = try await lab.beeline(["-s", "-S"] + option + [lab.plainURL()])
                #expect(run.status == 64, "\(option): \(run.errors)")
                #expect(run.errors.contains(".netrc: the login for 127.0.0.1 is not UTF-8"), "\(run.errors)")
            }
            #expect(lab.plain.requests.count == count)
            await lab.stop()
        }

        @Test("a Location with octets that are not UTF-8 is followed with these octets, not with U+FFFD")
        func otherOctetsInLocations() async throws {
            let lab = try await CommandLab { request in
                guard request.target == "/" else { return .text(request.target) }
                let location = HTTPField(name: .location, value: Array("/caf".utf8) + [0xE9] + Array("?%E9".utf8))
                return Reply(status: .found, fields: HTTPFields([location]))
            }
            let run = try await lab.beeline(["-s", "-L", lab.plainURL()])
            #expect(run.status == 0 && run.text == "/caf%E9?%E9", "\(run.text)\(run.errors)")
            let shown = try await lab.beeline(["-s", "-o", "out", "-w", "%{redirect_url}", lab.plainURL()])
            #expect(shown.text == lab.plainURL("/caf%E9?%E9"))
            await lab.stop()
        }

        @Test("run passes on a variable with octets that are not UTF-8 as it is")
        func otherOctetsInTheEnvironment() async throws {
            let folder = try Folder()
            let script = #"FOO=$(printf 'caf\351'); export FOO; exec "$0" run -- printenv FOO"#
            let run = try await CommandRun.run("/bin/sh", ["-c", script, CommandRun.beeline], in: folder)
            #expect(run.output == Data("caf".utf8) + Data([0xE9, 0x0A]), "\(run.errors)")
        }

        @Test("a line of -H @FILE ends at LF or CRLF only")
        func otherLineBreaksInFiles() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write("X-One: a\u{85}b\r\nX-Two: c\u{2028}d\n", to: "fields")
            let run = try await lab.beeline(["-s", "-H", "@fields", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            for (name, value) in [("X-One", "a\u{85}b"), ("X-Two", "c\u{2028}d")] {
                let field = try #require(HTTPField.Name(name))
                #expect(lab.plain.requests.last?.fields[field] == value)
            }
            await lab.stop()
        }

        @Test("a separator before a combining character is found")
        func separatorsBeforeCombiningCharacters() async throws {
            let mark = "\u{301}"
            let lab = try await CommandLab { request in .text(request.target) }
            let both = try await lab.beeline(["-s", "-o", "f#1\(mark)", lab.plainURL("/[1-2]")])
            #expect(both.status == 0, "\(both.errors)")
            #expect(lab.folder.has("f1\(mark)") && lab.folder.has("f2\(mark)"))
            let lines = [
                ["-F", "a=\(mark)"], ["-u", "a:\(mark)"], ["-H", "X-A:\(mark)"], ["--data-urlencode", "a=\(mark)"],
                ["-b", "a=\(mark)"], ["--create-dirs", "-o", "folder/\(mark)"],
            ]
            for line in lines {
                let run = try await lab.beeline(["-s", "-S"] + line + [lab.plainURL()])
                #expect(run.status == 0, "\(line): \(run.errors)")
            }
            #expect(lab.folder.has("folder/\(mark)"))
            let query = try await lab.beeline(["-s", "--url-query", "b=1", lab.plainURL("/?\(mark)#\(mark)")])
            #expect(query.text == "/?%CC%81&b=1", "\(query.errors)")
            await lab.stop()
        }
    }
}
