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

    @Flag(help: "Ask every upstream and print each answer")
    var all = false

    @Flag(help: "Ignore cached answers")
    var fresh = false

    @Flag(help: "Print the answers as JSON")
    var json = false

    func run() async throws {
        let defaults = try Defaults.load()
        var configuration = try ClientConfiguration(names.options(), defaults: defaults, files: .real)
        configuration.jar = nil
        let hosts = try host.map { text throws(CommandFailure) in
            do throws(NameError) {
                return try Host(text)
            } catch {
                throw CommandFailure(.malformedURL, error.message)
            }
        }
        let settings = configuration
        let options = ResolveRunner.Options(all: all, fresh: fresh, json: json)
        let status = await Interruption.run { await ResolveRunner(settings, options).run(hosts) }
        if status != .ok { throw ExitCode(status.rawValue) }
    }
}
