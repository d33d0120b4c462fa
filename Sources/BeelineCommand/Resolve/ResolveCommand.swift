// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline

/// `beeline resolve`: resolves hosts to addresses.
struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Print the addresses of names: HOST ADDRESS TTL SOURCE, a line an address.",
        usage: "beeline resolve [<options>] <host> ...",
        discussion: NameArguments.specs + " Exits with 6 if a name was not resolved."
    )

    @Argument(help: "The names")
    var host: [String]

    @OptionGroup var names: NameArguments

    @Flag(help: "Ask every upstream, and print each one's answer")
    var all = false

    @Flag(help: "Ask the upstreams although an answer is kept")
    var fresh = false

    @Flag(help: "Print one JSON document")
    var json = false

    func run() async throws {
        let defaults = try Defaults.load()
        var configuration = try ClientConfiguration(names, defaults: defaults, files: .real)
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
