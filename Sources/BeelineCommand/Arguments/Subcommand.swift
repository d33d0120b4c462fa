// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Decides which parser reads a command line: ``FetchParser`` or ArgumentParser.
enum Subcommand: Hashable {
    /// The arguments of `fetch`. Its name may be omitted.
    case fetch([String])
    /// A command line for ArgumentParser.
    case other([String])

    init(_ arguments: [String], names: Set<String> = Self.names) {
        guard let first = arguments.first else {
            self = .other(["--help"])
            return
        }
        let isAboutTheCommand =
            ["-h", "--help", "--version", "-V", "help"].contains(first)
            || ["--generate-completion-script", "--experimental-"].contains(where: first.hasPrefix)
        if first == "fetch" {
            self = .fetch(Array(arguments.dropFirst()))
        } else if isAboutTheCommand || names.contains(first) {
            self = .other(first == "-V" ? ["--version"] : arguments)
        } else {
            self = .fetch(arguments)
        }
    }

    /// The names of all subcommands.
    private static var names: Set<String> {
        Set(BeelineCommand.configuration.subcommands.compactMap { $0.configuration.commandName })
    }

    /// The name, for messages.
    var name: String {
        switch self {
        case .fetch: "fetch"
        case .other(let arguments): arguments.first ?? ""
        }
    }
}
