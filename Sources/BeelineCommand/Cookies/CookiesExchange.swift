// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import CookieJar

extension CookieFormat: ExpressibleByArgument {}

/// `beeline cookies import`: imports cookies from files and browser profiles.
struct CookiesImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import cookies of files and browsers into the jar, and print their number.",
        discussion: """
            A file is a text file in one of the formats, an SQLite jar, or a profile of Firefox or Chromium: its folder, or its \
            file cookies.sqlite or Cookies. The browser may be running; the profile is not changed. Values that Chromium \
            encrypts with a key of the system, such as that of a keyring, cannot be read.

            Invalid lines and rows are reported on standard error by their number and skipped.
            """
    )

    @OptionGroup var arguments: JarArguments

    @Option(help: "netscape, headers, json or storage-state (default: detected)")
    var format: CookieFormat?

    @Option(help: ArgumentHelp("Import the cookies of this Firefox container", valueName: "number"))
    var container = 0

    @Argument(help: "The files or profiles; - is standard input")
    var file: [String]

    func run() async throws {
        // Read the sources before opening the jar: the jar's own file may be among them.
        var sources: [(path: String, source: CookieSource)] = []
        for path in file {
            sources.append((path, try await CookieSource.read(path, as: format, container: container)))
        }
        let bounds = try arguments.bounds()
        let results = try await arguments.change { jar in
            sources.map { path, source in
                source.put(into: jar, of: path, isOfThisSession: true, bounds: bounds, namesExpired: true)
            }
        }
        for message in results.flatMap(\.messages) { Terminal.standardError.writeLine(message.singleLine) }
        let (imported, skipped) = results.reduce((0, 0)) { ($0.0 + $1.imported, $0.1 + $1.skipped) }
        try StandardOutput.writeLine("imported \(imported), skipped \(skipped)")
    }
}

/// `beeline cookies export`: prints the jar's cookies in another format.
struct CookiesExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the cookies of the jar in a format that other programs read."
    )

    @OptionGroup var arguments: JarArguments

    @Option(help: "netscape, headers, json or storage-state (Playwright)")
    var format: CookieFormat = .netscape

    func run() async throws {
        let cookies = try await arguments.read { $0.allCookies() }.sorted {
            ($0.domain, $0.created, $0.name) < ($1.domain, $1.created, $1.name)
        }
        try StandardOutput.write(cookies: format.write(cookies))
    }
}
