// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Beeline
import LibC

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The entry point of the `beeline` command.
@main
struct BeelineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beeline",
        abstract: "Transfer URLs, with host names resolved by HTTPDNS or DNS over HTTPS.",
        discussion: """
            Without a subcommand, beeline fetches: `beeline -L https://www.example.com/`. Options and exit codes are \
            those of curl, except for the differences that COMMAND.md of the documentation lists.
            """,
        version: BeelineClient.version,
        subcommands: [
            FetchCommand.self, ResolveCommand.self, DoctorCommand.self, ServeCommand.self, DNSCommand.self,
            CookiesCommand.self, LoginCommand.self, ProxyCommand.self, RunCommand.self, OpenCommand.self,
            DemoCommand.self, UpstreamsTopic.self,
        ],
        defaultSubcommand: FetchCommand.self
    )

    static func main() async {
        // The parent process may have set SIGCHLD to be ignored, which discards the exit codes of child processes.
        signal(SIGCHLD, SIG_DFL)
        FileDescriptor.reserveStandardNumbers()
        let given = Array(CommandLine.arguments.dropFirst())
        let octets = RawArguments.all()
        SecretArguments.wipe(octets)
        let subcommand = Subcommand(given)
        do {
            try RawArguments.check(octets, of: subcommand)
            if BuildReport.isRequested(by: given) { return try StandardOutput.writeLine(BuildReport.text) }
            switch subcommand {
            case .fetch(let arguments): try await fetch(arguments)
            case .other(let arguments):
                let command = try parseAsRoot(arguments)
                if let command = command as? any AsyncParsableCommand {
                    try await run(command)
                } else {
                    try run(command)
                }
            }
        } catch {
            end(with: error, subcommand: subcommand.name)
        }
    }

    /// Runs `fetch` on a thread of the pool, and ends the process there.
    @concurrent
    private static func fetch(_ arguments: [String]) async throws {
        let environment = ProcessInfo.processInfo.environment
        let optionFile = Defaults.usablePath("fetch.conf", environment)
        switch try FetchParser.parse(arguments, defaultFile: optionFile) {
        case .help: try StandardOutput.writeLine(helpMessage(for: FetchCommand.self))
        case .version: try StandardOutput.writeLine(configuration.version)
        case .fetch(let parts):
            if !parts.contains(where: \.session.isParallel) { StartUp.useOneEventLoop() }
            let status = try await FetchCommand.run(parts, defaults: Defaults.load(environment: environment))
            StartUp.endProcess(status)
        }
    }

    private static func run(_ command: sending some AsyncParsableCommand) async throws {
        var command = command
        try await command.run()
    }

    private static func run(_ command: some ParsableCommand) throws {
        var command = command
        try command.run()
    }

    /// Prints the error on one line and exits with its code.
    private static func end(with error: any Error, subcommand: String) -> Never {
        switch error {
        case let code as ExitCode:
            exit(withError: code)
        case let failure as CommandFailure:
            end(with: failure)
        case _ where exitCode(for: error) == .success:
            do {
                // `error` is a request for help or for the version.
                try StandardOutput.writeLine(fullMessage(for: error))
            } catch {
                end(with: error)
            }
            exit(withError: ExitCode.success)
        case _ where exitCode(for: error) == .validationFailure:
            // Some of ArgumentParser's messages end in a full stop.
            let message = message(for: error)
            let reason = message.hasSuffix(".") ? String(message.dropLast()) : message
            end(with: CommandFailure(.usage, "\(reason); try `beeline help \(subcommand)`"))
        default:
            end(with: CommandFailure(.internalFault, message(for: error)))
        }
    }

    private static func end(with failure: CommandFailure) -> Never {
        failure.print()
        exit(withError: ExitCode(failure.status.rawValue))
    }
}
