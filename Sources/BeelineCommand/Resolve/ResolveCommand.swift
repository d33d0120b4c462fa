// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// `beeline resolve`: resolves hosts to addresses.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Print the addresses of hosts, one per line: HOST ADDRESS TTL SOURCE.",
        usage: "beeline resolve [<options>] <host> ...",
        discussion: NameArguments.specs + " The exit code is 6 if a host was not resolved."
    )

    @Argument(help: "The hosts to resolve")
    var host: [String]

    @OptionGroup var names: NameArguments

    @Option(
        help: ArgumentHelp("Print the records of this type, such as TXT, MX or HTTPS, one per line", valueName: "type")
    )
    var type: String?

    @Flag(help: "Ask every upstream and print each answer")
    var all = false

    @Flag(help: "Ignore cached answers")
    var fresh = false

    @Flag(help: "Print the answers as JSON")
    var json = false

    func run() async throws {
        let defaults = try Defaults.load()
        let configuration = try ClientConfiguration(names.options(), defaults: defaults, files: .real)
        if let type {
            guard !all, !fresh else { throw CommandFailure(.usage, "--type excludes --all and --fresh") }
            let names = host
            let runner = RecordRunner(configuration: configuration, type: type, json: json)
            return try await Interruption.runCommand { () async throws(CommandFailure) in try await runner.run(names) }
        }
        let hosts = try host.map { text throws(CommandFailure) in
            do throws(NameError) {
                return try Host(text)
            } catch {
                throw CommandFailure(.malformedURL, error.message)
            }
        }
        let options = ResolveRunner.Options(all: all, fresh: fresh, json: json)
        let runner = ResolveRunner(configuration: configuration, options: options)
        try await Interruption.runCommand { () async throws(CommandFailure) in try await runner.run(hosts) }
    }
}
