// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `beeline`: arguments to configuration to library.
@main
struct BeelineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beeline",
        abstract: "Requests that go to the right address and stay what they are.",
        subcommands: [CookiesCommand.self, DemoCommand.self]
    )
}
