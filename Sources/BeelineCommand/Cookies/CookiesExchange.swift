// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import CookieJar

extension CookieFormat: ExpressibleByArgument {}

/// `beeline cookies import`: cookies of a file into the jar.
struct CookiesImport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Put the cookies of files into the jar, and print how many they were.",
        discussion: "Lines that are no cookies are reported on standard error by number, and the rest is read."
    )

    @OptionGroup var arguments: JarArguments

    @Option(help: "netscape, headers or json; default what the file looks like")
    var format: CookieFormat?

    @Argument(help: "The files; - is standard input")
    var file: [String]

    func run() throws {
        let (imported, skipped) = try arguments.change { jar in
            try file.reduce((0, 0)) { sum, path in
                let counts = try read(path, into: jar)
                return (sum.0 + counts.0, sum.1 + counts.1)
            }
        }
        print("imported \(imported), skipped \(skipped)")
    }

    private func read(_ path: String, into jar: CookieJar) throws -> (Int, Int) {
        let octets = try JarFile.octets(of: path)
        let read = (format ?? CookieFormat(of: octets)).read(octets, now: .now)
        for problem in read.problems { Terminal.standardError.writeLine("\(path): \(problem)") }
        var skipped = read.problems.count
        for (line, outcome) in zip(read.lines, jar.insert(read.cookies)) {
            guard case .rejected(let reason) = outcome else { continue }
            Terminal.standardError.writeLine("\(path): line \(line): \(reason)")
            skipped += 1
        }
        return (read.cookies.count + read.problems.count - skipped, skipped)
    }
}

/// `beeline cookies export`: the jar's cookies in another form.
struct CookiesExport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the cookies of the jar in a form that other programs read."
    )

    @OptionGroup var arguments: JarArguments

    @Option(help: "netscape, headers or json")
    var format: CookieFormat = .netscape

    func run() throws {
        let cookies = try arguments.read { $0.allCookies() }.sorted {
            ($0.domain, $0.created, $0.name) < ($1.domain, $1.created, $1.name)
        }
        try FileDescriptor.standardOutput.write(format.write(cookies))
    }
}
