// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineTesting
import Foundation
import Testing

extension ProcessTests {
    /// What curl's users expect beyond the options: the order and size of cookies, notes, and exit codes of broken responses.
    struct CurlHabitTests {
        private static func line(_ name: String, _ value: String) -> String {
            "127.0.0.1\tFALSE\t/\tFALSE\t0\t\(name)\t\(value)\n"
        }

        @Test("a file of -c, read by -b, gives the cookies in the order in which the server set them")
        func orderOfFiles() async throws {
            let lab = try await CommandLab { _ in
                .text("ok").adding(.setCookie, "first=1").adding(.setCookie, "second=2").adding(.setCookie, "third=3")
            }
            let jar = "jar"
            for _ in 1...2 {
                let run = try await lab.beeline(["-s", "-b", jar, "-c", jar, lab.plainURL()])
                #expect(run.status == 0, "\(run.errors)")
            }
            #expect(lab.plain.requests.last?.fields[.cookie] == "first=1; second=2; third=3")
            await lab.stop()
        }

        @Test("of several files of -b the last line is sent first, and the last value counts")
        func severalFiles() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write(Self.line("a", "old") + Self.line("b", "2"), to: "one")
            try lab.folder.write(Self.line("a", "new") + Self.line("c", "3"), to: "two")
            let run = try await lab.beeline(["-s", "-b", "one", "-b", "two", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.last?.fields[.cookie] == "c=3; b=2; a=new")
            await lab.stop()
        }

        @Test("cookies of the jar beyond 8 KiB are not sent; those of the command line are")
        func longCookies() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let value = String(repeating: "x", count: 1_000)
            let file = (1...9).reduce("") { $0 + Self.line("n\($1)", value) }
            try lab.folder.write(file, to: "jar")
            let run = try await lab.beeline(["-s", "-b", "jar", lab.plainURL(), lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            let sent = (2...9).reversed().map { "n\($0)=\(value)" }.joined(separator: "; ")
            #expect(lab.plain.requests.map { $0.fields[.cookie] } == [sent, sent])
            #expect(try await lab.beeline(["-s", "-b", "jar", "-b", "own=1", lab.plainURL()]).status == 0)
            #expect(lab.plain.requests.last?.fields[.cookie] == sent + "; own=1")
            await lab.stop()
        }

        @Test("a request gets the 150 newest cookies of the jar, and a response stores 50")
        func manyCookies() async throws {
            let lab = try await CommandLab { _ in
                (1...60).reduce(Reply.text("ok")) { $0.adding(.setCookie, "new\($1)=1") }
            }
            try lab.folder.write((1...151).reduce("") { $0 + Self.line("n\($1)", "1") }, to: "jar")
            #expect(try await lab.beeline(["-s", "-b", "jar", lab.plainURL()]).status == 0)
            #expect(try await lab.beeline(["-s", "-c", "kept", lab.plainURL()]).status == 0)
            let sent = (1...150).reversed().map { "n\($0)=1" }.joined(separator: "; ")
            #expect(lab.plain.requests.first?.fields[.cookie] == sent)
            let kept = try lab.folder.text("kept")
            #expect(kept.contains("\tnew50\t") && !kept.contains("\tnew51\t"))
            await lab.stop()
        }

        @Test("a redirect to a URL with four slashes has exit code 3, after its head; three slashes are followed")
        func slashesOfLocations() async throws {
            let lab = try await CommandLab { request in
                request.path == "/" ? .redirect(to: request.query["to"] ?? "") : .text("ok")
            }
            for start in ["http:////", "HTTP:////", "////"] {
                let target = "\(start)127.0.0.1:\(lab.plain.port)/end"
                let run = try await lab.beeline(["-sS", "-L", "-i", lab.plainURL("/?to=\(target)")])
                #expect(run.status == 3 && run.errors.contains("three slashes"), "\(run.errors)")
                #expect(run.text.hasPrefix("HTTP/1.1 302"))
            }
            #expect(lab.plain.requests.allSatisfy { $0.path == "/" })
            let three = lab.plainURL("/?to=http:///127.0.0.1:\(lab.plain.port)/end")
            #expect(try await lab.beeline(["-s", "-L", three]).text == "ok")
            await lab.stop()
        }

        @Test("a space in the query of a Location becomes a plus, and one in its path or fragment does not")
        func spacesOfLocations() async throws {
            let lab = try await CommandLab { request in
                request.path == "/" ? .redirect(to: "/a b?c d=%20 e#f ?g") : .text("ok")
            }
            let run = try await lab.beeline(["-s", "-L", lab.plainURL()])
            #expect(run.status == 0, "\(run.errors)")
            #expect(lab.plain.requests.last?.target == "/a%20b?c+d=%20+e")
            await lab.stop()
        }

        @Test("notes about needless and doubtful -X, skipped and removed files have curl's words, and -s hides them")
        func notes() async throws {
            let lab = try await CommandLab { _ in .text("gone", status: .notFound) }
            try lab.folder.write("", to: "there")
            let rows: [(line: [String], says: String)] = [
                (["-X", "POST", "-d", "x"], "Note: Unnecessary use of -X or --request, POST is already inferred.\n"),
                (["-X", "get"], "Note: Unnecessary use of -X or --request, GET is already inferred.\n"),
                (["-I", "-X", "HEAD"], "Note: Unnecessary use of -X or --request, HEAD is already inferred.\n"),
                (["-X", "DELETE"], ""),
                (["-o", "there", "--skip-existing"], "Note: skips transfer, \"there\" exists locally\n"),
                (
                    ["-o", "new", "-s", "-S", "--fail-with-body", "--remove-on-error"],
                    "beeline: (22) \(lab.plainURL()) answered 404\n"
                ),
            ]
            for (line, says) in rows {
                #expect(try await lab.beeline(line + [lab.plainURL()]).errors == says, "\(line)")
                guard !line.contains("-s") else { continue }
                #expect(try await lab.beeline(line + ["-s", lab.plainURL()]).errors == "", "\(line)")
            }
            #expect(!lab.folder.has("new"))
            let removed = try await lab.beeline(["-o", "new", "--fail-with-body", "--remove-on-error", lab.plainURL()])
            #expect(removed.errors.hasPrefix("Note: Removed output file: new\n"), "\(removed.errors)")
            await lab.stop()
        }

        @Test("a Content-Length that does not fit 64 bits is malformed, and larger than every --max-filesize")
        func hugeLength() async throws {
            let server = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 36893488147419103232\r\n\r\nx")
            }
            let lab = try await CommandLab()
            let url = "http://127.0.0.1:\(server.port)/"
            #expect(try await lab.beeline(["-s", url]).status == 8)
            #expect(try await lab.beeline(["-s", "--max-filesize", "2000", url]).status == 63)
            await lab.stop()
            await server.stop()
        }

        @Test(
            "a refused tunnel has exit code 7, also if its body never ends, and 56 if its body is malformed",
            .timeLimit(.minutes(1)),
            arguments: [("", 7), ("4\r\n", 7), ("2\r\nok\r\n0\r\n\r\n", 7), ("no chunk", 56)] as [(String, Int32)]
        )
        func refusals(body: String, status: Int32) async throws {
            let gate = Gate()
            let proxy = try await RawServer.start { connection in
                _ = try await connection.receive(until: "\r\n\r\n")
                try await connection.send("HTTP/1.1 403 no\r\nTransfer-Encoding: chunked\r\n\r\n")
                try await connection.send(body)
                try await gate.wait()
            }
            let lab = try await CommandLab()
            let run = try await lab.beeline(["-sS", "-p", "-x", "http://127.0.0.1:\(proxy.port)", "http://a.test/"])
            #expect(run.status == status && run.errors.contains("answered 403"), "\(run.errors)")
            gate.open()
            await lab.stop()
            await proxy.stop()
        }

        @Test("-H sends Connection with any options but upgrade, also if they have 300 KiB")
        func connectionOptions() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let long = String(repeating: "x", count: 300 << 10)
            try lab.folder.write("header = \"Connection: \(long)\"\n", to: "options")
            let short = "keep-alive, X-Own"
            for (line, sent) in [(["-H", "Connection: \(short)"], short), (["-K", "options"], long)] {
                #expect(try await lab.beeline(["-s"] + line + [lab.plainURL()]).text == "ok")
                #expect(lab.plain.requests.last?.fields[.connection] == sent)
            }
            for value in ["Upgrade", "keep-alive, upgrade", "a b", "a,,b"] {
                let run = try await lab.beeline(["-s", "-H", "Connection: \(value)", lab.plainURL()])
                #expect(run.status == 64, "\(value)")
            }
            #expect(lab.plain.requests.count == 2)
            await lab.stop()
        }

        @Test("-H sends Connection: close, and removes the Accept-Encoding of --compressed")
        func fieldsOfTheClient() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            for (line, connection, encoding) in [
                (["-H", "Connection: close"], "close", nil), (["--compressed", "-H", "Accept-Encoding:"], nil, nil),
                (["--compressed", "-H", "Accept-Encoding: gzip"], nil, "gzip"),
            ] as [([String], String?, String?)] {
                #expect(try await lab.beeline(["-s"] + line + [lab.plainURL(), lab.plainURL()]).text == "okok")
                let fields = lab.plain.requests.last?.fields
                #expect(fields?[.connection] == connection && fields?[.acceptEncoding] == encoding, "\(line)")
            }
            await lab.stop()
        }

        @Test("-4 and -6 exclude an address in the URL, with exit code 7")
        func excludedAddresses() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let run = try await lab.beeline(["-s", "-S", "-6", lab.plainURL()])
            #expect(run.status == 7 && run.errors.contains("-6 excludes 127.0.0.1"), "\(run.errors)")
            #expect(try await lab.beeline(["-s", "-S", "-4", "http://[::1]:1/"]).status == 7)
            #expect(lab.plain.requests.isEmpty)
            #expect(try await lab.beeline(["-s", "-4", lab.plainURL()]).status == 0)
            await lab.stop()
        }

        @Test("-r with a body says which part of the resource the body is")
        func rangeOfABody() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            #expect(try await lab.beeline(["-s", "-r", "2-4", "-d", "abc", lab.plainURL()]).status == 0)
            let fields = lab.plain.requests.last?.fields
            #expect(fields?[.contentRange] == "bytes 2-4/3" && fields?[.range] == nil)
            await lab.stop()
        }

        @Test("-w @FILE prints the format without the line breaks of the file")
        func formatOfAFile() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            try lab.folder.write(" %{http_code}\r\n\\n\n.", to: "format")
            #expect(try await lab.beeline(["-s", "-w", "@format", lab.plainURL()]).text == "ok 200\n.")
            await lab.stop()
        }

        @Test("--disallow-username-in-url refuses a URL with a user before any request, and does not show the password")
        func userInURL() async throws {
            let lab = try await CommandLab { _ in .text("ok") }
            let option = "--disallow-username-in-url"
            let run = try await lab.beeline(["-sS", option, "http://me:secret@127.0.0.1:\(lab.plain.port)/"])
            #expect(run.status == 67 && !run.errors.contains("secret"), "\(run.errors)")
            #expect(lab.plain.requests.isEmpty)
            #expect(try await lab.beeline(["-s", option, lab.plainURL()]).text == "ok")
            await lab.stop()
        }
    }
}
