// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch

/// `beeline fetch`: fetches URLs to standard output or files.
///
/// ArgumentParser makes the help and the completions from this type. ``FetchParser`` parses its arguments.
struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetch URLs (the default subcommand).",
        usage: "beeline [fetch] [<options>] <url> ...",
        discussion: """
            --no-NAME turns a flag off. Options are also read from $XDG_CONFIG_HOME/beeline/fetch.conf, \
            unless -q is the first argument.

            """ + NameArguments.specs
    )

    @Argument(help: "The URLs to fetch; http:// may be omitted. {a,b} and [1-9] are several URLs")
    var url: [String] = []

    @OptionGroup(title: "Request") var request: RequestArguments
    @OptionGroup(title: "Form of the request") var message: MessageOptions
    @OptionGroup(title: "Logins from files") var login: LoginOptions
    @OptionGroup(title: "Output") var output: OutputArguments
    @OptionGroup(title: "Transfer") var transfer: TransferArguments
    @OptionGroup(title: "Connection") var connection: ConnectionArguments
    @OptionGroup(title: "Redirects and schemes") var redirect: RedirectOptions
    @OptionGroup(title: "Proxies") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "Sockets") var socket: SocketOptions
    @OptionGroup(title: "Names and trust") var names: NameOptions
    @OptionGroup(title: "Cookies") var cookies: CookieArguments
    @OptionGroup(title: "Command line") var session: SessionArguments

    /// Runs the transfers of a parsed command line, and returns the exit status.
    static func run(_ parts: [FetchArguments], defaults: Defaults) async throws(CommandFailure) -> CommandStatus {
        if let session = parts.last?.session { redirectErrors(session) }
        let session = try FetchSession(parts, defaults: defaults, files: .real)
        return await Interruption.run(limit: .seconds(3)) { await FetchRunner.run(session) }
    }

    /// Redirects standard error to the file of `--stderr`. If this fails, it prints a warning, as curl does.
    private static func redirectErrors(_ session: SessionArguments) {
        guard let path = session.errorFile else { return }
        do throws(CommandFailure) {
            try FileDescriptor.redirectStandardError(to: path)
        } catch {
            guard session.printsNotes else { return }
            Terminal.standardError.writeLine("Warning: \(error.message)")
        }
    }
}
