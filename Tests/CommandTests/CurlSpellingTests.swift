// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import BeelineTesting
import Foundation
import Testing

@testable import BeelineCommand

/// Command lines may be spelled as for curl.
struct CurlSpellingTests {
    static let rows: [(what: String, line: [String], canonical: [String])] = [
        ("an empty command line asks for help", [], ["--help"]),
        ("the version has curl's letter", ["-V"], ["--version"]),
        ("a URL is fetched", ["http://x/"], ["fetch", "http://x/"]),
        ("fetch may be named", ["fetch", "x"], ["fetch", "x"]),
        ("options come first", ["-L", "x"], ["fetch", "--location", "x"]),
        ("flags cluster", ["-sSL", "x"], ["fetch", "--silent", "--show-error", "--location", "x"]),
        (
            "the last of a cluster has a value", ["-sSLo", "f", "x"],
            ["fetch", "--silent", "--show-error", "--location", "--output=f", "x"]
        ),
        ("a value joins its letter", ["-XPOST", "-da=b", "x"], ["fetch", "--request=POST", "--data=a=b", "x"]),
        (
            "a value may begin with a dash", ["-d", "-1", "--data", "--x", "x"],
            ["fetch", "--data=-1", "--data=--x", "x"]
        ),
        ("a value may be a dash", ["-o", "-", "-T", "-", "x"], ["fetch", "--output=-", "--upload-file=-", "x"]),
        ("a value may be empty", ["-A", "", "x"], ["fetch", "--user-agent", "", "x"]),
        ("a value may be a subcommand", ["-X", "resolve", "x"], ["fetch", "--request=resolve", "x"]),
        ("a long option's value stands alone", ["--max-redirs", "-1", "x"], ["fetch", "--max-redirs=-1", "x"]),
        ("a long option may have an equals sign", ["--data=x", "x"], ["fetch", "--data=x", "x"]),
        ("digits are letters", ["-4v", "x"], ["fetch", "--ipv4", "--verbose", "x"]),
        ("arguments after -- stay as they are", ["-s", "--", "-x"], ["fetch", "--silent", "--", "-x"]),
        ("an unknown letter stays for its error", ["-sZ", "x"], ["fetch", "--silent", "-Z", "x"]),
        ("a value that is missing stays for its error", ["-o"], ["fetch", "--output"]),
        ("a dash is an argument", ["-"], ["fetch", "-"]),
        ("other subcommands are left alone", ["resolve", "-4", "x"], ["resolve", "-4", "x"]),
        ("help is left alone", ["--help"], ["--help"]),
        ("help for fetch", ["-L", "-h"], ["fetch", "--location", "--help"]),
    ]

    @Test(arguments: rows)
    func rewrites(_ row: (what: String, line: [String], canonical: [String])) {
        let subcommands: Set = ["fetch", "resolve", "cookies"]
        #expect(CurlSpelling.canonical(row.line, subcommands: subcommands) == row.canonical, "\(row.what)")
    }

    /// The table of letters and of options with values agrees with the declared options.
    @Test func knowsEveryOption() async throws {
        let dump = FetchCommand._dumpHelp()
        let root = try #require(try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any])
        let command = try #require(root["command"] as? [String: Any])
        let arguments = try #require(command["arguments"] as? [[String: Any]])
        var valued: Set<String> = []
        var letters: [String: String] = [:]
        for argument in arguments where argument["kind"] as? String != "positional" {
            let names = argument["names"] as? [[String: String]] ?? []
            guard let long = names.first(where: { $0["kind"] == "long" })?["name"] else { continue }
            if argument["kind"] as? String == "option" { valued.insert("--\(long)") }
            for name in names where name["kind"] == "short" { letters[name["name"] ?? ""] = "--\(long)" }
        }
        #expect(CurlOption.longWithValue == valued)
        letters["h"] = "--help"
        #expect(
            letters.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" }
                == CurlOption.byLetter.map { "\($0.key)\($0.value.name)" }.sorted()
        )
    }

    /// No command line makes the rewriting trap.
    @Test func survivesAnything() {
        var random = SeededRandom(seed: 1)
        let alphabet = Array("-=ohXd4 \u{0}\u{301}é@:")
        for round in 0..<5_000 {
            let line = (0..<Int(random.next() % 6)).map { _ in
                String((0..<Int(random.next() % 6)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] })
            }
            let canonical = CurlSpelling.canonical(line, subcommands: ["fetch"])
            // Only some lines are parsed, because ArgumentParser takes milliseconds for each.
            if round % 250 == 0 { _ = try? FetchCommand.parse(Array(canonical.dropFirst())) }
        }
    }
}
