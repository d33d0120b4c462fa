// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch

/// `beeline fetch`: fetches URLs to standard output or files.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetch URLs (the default subcommand).",
        usage: "beeline [fetch] [<options>] <url> ...",
        discussion: NameArguments.specs
    )

    @Argument(help: "The URLs to fetch; http:// may be omitted")
    var url: [String]

    @OptionGroup(title: "Request") var request: RequestArguments
    @OptionGroup(title: "Output") var output: OutputArguments
    @OptionGroup(title: "Connection") var connection: ConnectionArguments
    @OptionGroup(title: "Names and trust") var names: NameArguments
    @OptionGroup(title: "Cookies") var cookies: CookieArguments

    func run() async throws {
        let plan = try FetchPlan(self, defaults: Defaults.load(), files: .real)
        let status = await Interruption.run(limit: .seconds(3)) { await FetchRunner.run(plan) }
        if status != .ok { throw ExitCode(status.rawValue) }
    }
}
