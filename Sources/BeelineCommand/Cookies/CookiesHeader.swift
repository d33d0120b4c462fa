// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar
import Names

/// `beeline cookies header`: prints the Cookie field that a request would send.
struct CookiesHeader: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "header",
        abstract: "Print the Cookie header that a request would send, or nothing if there is none."
    )

    @OptionGroup var arguments: JarArguments
    @OptionGroup var access: ContextArguments

    @Argument(help: "The URL of the request")
    var url: String

    func run() async throws {
        let url = try HTTPURL(argument: url)
        let header = try await arguments.read { $0.headerOctets(for: url, context: access.context) }
        guard let header else { return }
        try StandardOutput.write(cookies: header + [0x0a])
    }
}
