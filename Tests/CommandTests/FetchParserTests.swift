// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

/// Command lines and files of options are read as curl reads them.
struct FetchParserTests {
    // MARK: Arguments

    @Test func optionsAndURLsComeInAnyOrder() throws {
        let part = try one("-L", "a", "-s", "b", "-o", "f")
        #expect(part.urls == ["a", "b"] && part.connection.location && part.session.isSilent)
        #expect(part.output.destinations == [.file("f")])
    }

    @Test func lettersMakeAClusterWhoseLastOneHasAValue() throws {
        for line in [["-sSLo", "f", "x"], ["-sSLof", "x"], ["x", "-s", "-S", "-L", "-o", "f"]] {
            let part = try one(line)
            #expect(part.session.isSilent && part.session.showsErrors && part.connection.location, "\(line)")
            #expect(part.output.destinations == [.file("f")] && part.urls == ["x"], "\(line)")
        }
        let part = try one("-XPOST", "-da=b", "-4v", "x")
        #expect(part.request.method == "POST" && part.request.data == [DataPiece(.form, "a=b")])
        #expect(part.names.families == .v4 && part.session.isVerbose)
    }

    @Test func aValueMayLookLikeAnything() throws {
        let part = try one("-d", "-1", "--data", "--x", "-A", "", "-X", "resolve", "-o", "-", "--max-redirs", "-1", "x")
        #expect(part.request.data.map(\.text) == ["-1", "--x"] && part.request.userAgent == "")
        #expect(part.request.method == "resolve" && part.output.destinations == [.file("-")])
        #expect(part.connection.maxRedirs == -1)
    }

    @Test func longNamesMayHaveAnEqualsSignAndMayBeShortened() throws {
        #expect(try one("--data=a=b", "x").request.data.map(\.text) == ["a=b"])
        #expect(try one("--user-agent=", "x").request.userAgent == "")
        #expect(try one("--max-r", "3", "x").connection.maxRedirs == 3)
        // The whole name of an option wins over longer names.
        #expect(try one("--head", "x").request.head)
        #expect(message("--max", "1", "x").contains("--max-redirs"))
    }

    @Test func theLastOneWinsAndNoSwitchesOff() throws {
        #expect(try one("-X", "A", "-X", "B", "x").request.method == "B")
        #expect(try !one("-L", "--no-location", "x").connection.location)
        #expect(try one("-f", "--fail-with-body", "x").output.errorStatus == .failedWithBody)
        #expect(try one("-f", "--no-fail", "x").output.errorStatus == .accepted)
        #expect(try one("--no-clobber", "x").output.clobbers == false)
        #expect(try one("--no-progress-meter", "x").output.hidesMeter)
        #expect(try one("-4", "-6", "x").names.families == .v6)
    }

    @Test func argumentsAfterTwoDashesAreURLs() throws {
        #expect(try one("-s", "--", "-x", "--data").urls == ["-x", "--data"])
    }

    @Test func nextStartsOptionsOfItsOwnAndKeepsThoseOfTheSession() throws {
        let parts = try parse(["-s", "-d", "a", "x", "--next", "-I", "y", "-:", "-Z", "z"])
        #expect(parts.map(\.urls) == [["x"], ["y"], ["z"]])
        #expect(parts.map(\.request.data.count) == [1, 0, 0] && parts.map(\.request.head) == [false, true, false])
        #expect(parts.allSatisfy { $0.session.isSilent && $0.session.isParallel })
        #expect(message("--next", "x").contains("before --next"))
    }

    @Test(arguments: [
        ["-o"], ["x", "--output"], ["--no-data", "x"], ["--compressed=1", "x"], ["-?", "x"], ["--nothing", "x"], ["-s"],
        ["--retry", "two", "x"], ["--retry", "-1", "x"], ["--connect-timeout", "soon", "x"], ["--"],
        ["--max-redirs", "-2", "x"], ["--max-cookies", "0", "x"],
    ])
    func wrongLinesAreUsageErrors(_ line: [String]) {
        let failure = #expect(throws: CommandFailure.self) { try parse(line) }
        #expect(failure?.status == .usage, "\(line)")
    }

    @Test("options of curl that docs/COMMAND.md leaves out are refused as such")
    func leftOutOptions() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("docs/COMMAND.md"), encoding: .utf8)
        let table = try #require(page.split(separator: "### What is left out").last?.split(separator: "## Exit").first)
        var names: [String] = []
        for row in table.split(separator: "\n") where row.hasPrefix("| `") {
            let cell = row.dropFirst().prefix { $0 != "|" }
            names += cell.split(separator: "`").filter { $0.hasPrefix("--") }.map(String.init)
        }
        // It has an effect with https.
        names.removeAll { $0 == "--http2" || $0 == "--proxy-" }
        #expect(names.count > 70)
        for name in names + ["--proxy-ntlm", "--proxy-tlsuser", "--expand-url", "--ftp-pasv", "-Q"] {
            let option = name.replacingOccurrences(of: "…", with: "")
            #expect(message(option, "x").hasPrefix("\(option): this option of curl is not supported"), "\(name)")
        }
    }

    @Test func aMessageHasNoValueOfTheLine() {
        #expect(!message("--passwords=s3cret", "x").contains("s3cret"))
        #expect(!message("--insecure=s3cret", "x").contains("s3cret"))
    }

    @Test func helpAndVersionMayStandAnywhere() throws {
        #expect(try FetchParser.parse(["-L", "x", "-h"], files: Self.files) == .help)
        #expect(try FetchParser.parse(["x", "-sV"], files: Self.files) == .version)
    }

    // MARK: Files

    @Test func aFileHasAnOptionALine() throws {
        let part = try one("-K", "all", "x")
        #expect(part.urls == ["http://a.test/", "x"])
        #expect(part.request.userAgent == "a \"b\" \\ \t\n!" && part.request.method == "PUT")
        #expect(
            part.request.headers == ["X-One: 1", "two:2"] && part.session.isSilent && part.request.data.isEmpty == false
        )
        #expect(part.request.data.map(\.text) == ["=x"] && part.connection.location && part.request.referer == "")
    }

    @Test func aFileMayHaveSeveralParts() throws {
        #expect(try parse(["-K", "parts"]).map(\.urls) == [["a"], ["b"]])
    }

    @Test func linesOfAFileMayEndInCRLF() throws {
        #expect(try one("-K", "crlf").urls == ["a", "b c"])
    }

    @Test func theDefaultFileComesFirstAndCanBeSkipped() throws {
        let parse = { (line: [String]) in try FetchParser.parse(line, defaultFile: "default", files: Self.files) }
        guard case .fetch(let parts) = try parse(["-A", "own", "x"]), case .fetch(let plain) = try parse(["-qs", "x"])
        else {
            Issue.record("nothing is fetched")
            return
        }
        #expect(parts[0].request.userAgent == "own" && parts[0].request.referer == "r")
        #expect(plain[0].request.referer == nil && plain[0].session.isSilent)
        #expect(try FetchParser.parse(["x"], defaultFile: "missing", files: Self.files) != .help)
    }

    @Test func aMistakeInAFileIsNamedWithItsLine() {
        #expect(message("-K", "wrong", "x").hasPrefix("wrong, line 2: --nothing"))
        #expect(message("-K", "self", "x").contains("too deeply"))
        let failure = #expect(throws: CommandFailure.self) { try parse(["-K", "missing", "x"]) }
        #expect(failure?.status == .readFailed)
    }

    @Test func aFileOfURLsHasOneALine() throws {
        let part = try one("--url", "@urls")
        #expect(
            part.urls == [URLArgument("http://a/{b}", isFromFile: true), URLArgument("http://c/", isFromFile: true)]
        )
    }

    @Test("an argument @FILE is a file of URLs also without --url, and after two dashes")
    func positionalFileOfURLs() throws {
        let urls = [URLArgument("http://a/{b}", isFromFile: true), URLArgument("http://c/", isFromFile: true)]
        for line in [["x", "@urls", "y"], ["--", "x", "@urls", "y"]] {
            #expect(try one(line).urls == ["x"] + urls + ["y"], "\(line)")
        }
        let failure = #expect(throws: CommandFailure.self) { try parse(["@missing"]) }
        #expect(failure?.status == .readFailed)
    }

    /// No command line and no file of options makes the parser trap.
    @Test func survivesAnything() {
        var random = SeededRandom(seed: 1)
        let alphabet = Array("-=ohXdK4: \"\\#\n\u{0}\u{301}é@")
        for _ in 0..<FuzzRounds.count(ordinary: 5_000) {
            let text = { (limit: UInt64) in
                String(
                    (0..<Int(random.next() % limit)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
                )
            }
            let line = (0..<Int(random.next() % 6)).map { _ in text(6) }
            let file = text(40)
            let files = InputFiles(contents: { _ in Array(file.utf8) }, size: { _ in 1 }, askPassword: { _ in nil })
            _ = try? FetchParser.parse(line, defaultFile: random.next() % 2 == 0 ? "x" : nil, files: files)
        }
    }

    // MARK: The table

    @Test func namesAndLettersAreUnique() {
        let names = FetchArguments.options.map(\.name)
        let letters = FetchArguments.options.compactMap(\.letter)
        #expect(Set(names).count == names.count && Set(letters).count == letters.count)
    }

    @Test func theHelpShowsEveryOption() throws {
        let help = FetchCommand.helpMessage(columns: 200)
        for option in FetchArguments.options where option.help != nil {
            #expect(help.contains("--\(option.name)"), "\(option.name)")
        }
        let dump = try #require(
            try JSONSerialization.jsonObject(with: Data(FetchCommand._dumpHelp().utf8)) as? [String: Any]
        )
        let arguments = (dump["command"] as? [String: Any])?["arguments"] as? [[String: Any]] ?? []
        let titles = Set(arguments.compactMap { $0["sectionTitle"] as? String })
        #expect(titles.isSuperset(of: ["Request", "Output", "Transfer", "Connection", "Cookies"]))
    }

    @Test("SPEC is described once, in a topic that each subcommand with --dns names")
    func theHelpOfUpstreamsIsOneTopic() {
        let commands: [any ParsableCommand.Type] = [
            FetchCommand.self, ResolveCommand.self, DoctorCommand.self, ServeCommand.self, DNSCommand.self,
            ProxyCommand.self, RunCommand.self, OpenCommand.self,
        ]
        for command in commands {
            let help = BeelineCommand.helpMessage(for: command, columns: 5_000)
            #expect(help.contains("beeline help upstreams") && !help.contains("volcengine"), "\(command)")
        }
        let topic = BeelineCommand.helpMessage(for: UpstreamsTopic.self, columns: 200)
        for form in ["dnspod", "doh:URL", "json:URL", "dot:HOST", "dns:ADDR", "system", "hosts:FILE", "volcengine:"] {
            #expect(topic.contains(form), "\(form)")
        }
    }

    @Test("defaults of whole numbers are printed without a fraction")
    func defaultsHaveNoFraction() {
        let help = [ServeCommand.helpMessage(columns: 5_000), DNSCommand.helpMessage(columns: 5_000)]
        for text in help + [LoginCommand.helpMessage(columns: 200)] { #expect(!text.contains(".0)"), "\(text)") }
        for text in help { #expect(text.contains("(default: 200)") && text.contains("(default: 0)"), "\(text)") }
    }

    /// The options of ``NameArguments``, which other subcommands parse, are those of `fetch`.
    @Test func optionsOfNamesAreThoseOfTheOtherSubcommands() throws {
        let help = ResolveCommand.helpMessage(columns: 200)
        for option in NameOptions.options where option.help != nil {
            #expect(help.contains("--\(option.name)"))
        }
    }

    // MARK: Subcommands

    @Test func aLineWithoutASubcommandFetches() {
        let names: Set = ["fetch", "resolve"]
        let rows: [([String], Subcommand)] = [
            ([], .other(["--help"])), (["-V"], .other(["--version"])), (["--help"], .other(["--help"])),
            (["x"], .fetch(["x"])), (["-s", "x"], .fetch(["-s", "x"])), (["fetch", "-s", "x"], .fetch(["-s", "x"])),
            (["resolve", "-4", "x"], .other(["resolve", "-4", "x"])),
            (["-X", "resolve", "x"], .fetch(["-X", "resolve", "x"])),
        ]
        for (line, subcommand) in rows { #expect(Subcommand(line, names: names) == subcommand, "\(line)") }
    }

    private func parse(_ line: [String]) throws -> [FetchArguments] {
        try FetchParser.fetches(line, files: Self.files)
    }

    private func one(_ line: String...) throws -> FetchArguments { try one(line) }
    private func one(_ line: [String]) throws -> FetchArguments {
        let parts = try parse(line)
        #expect(parts.count == 1)
        return try #require(parts.first)
    }

    private func message(_ line: String...) -> String {
        let failure = #expect(throws: CommandFailure.self) { try parse(line) }
        return failure?.message ?? ""
    }

    private static let files: InputFiles = {
        let texts = [
            "all": """
            # a comment
              \t# another
            user-agent = "a \\"b\\" \\\\ \\t\\n\\!" # ignored

            request: PUT
            header="X-One: 1"
            -H two:2
            --silent
            -d =x
            location
            referer ""
            url = http://a.test/
            """,
            "parts": "next\nurl = a\nnext\nurl = b\n", "crlf": "url = a\r\nurl = \"b c\"\r\n",
            "default": "referer = r\nuser-agent = default\n", "wrong": "silent\nnothing = 1\n",
            "self": "config = self\n",
            "urls": "# comment\nhttp://a/{b}\r\n\nhttp://c/\n",
        ]
        return InputFiles(
            contents: { path in
                guard let text = texts[path] else { throw FileDescriptor.Failure(code: ENOENT) }
                return Array(text.utf8)
            },
            size: { texts[$0].map { Int64($0.utf8.count) } },
            askPassword: { _ in nil }
        )
    }()
}
