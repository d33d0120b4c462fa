// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar
import Names

/// `beeline cookies set`: stores Set-Cookie values as if from a response.
struct CookiesSet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store cookies as if a response from a URL had set them.",
        discussion: "Prints one line for each cookie: kept, replaced, deleted, or rejected with the reason."
    )

    @OptionGroup var arguments: JarArguments
    @OptionGroup var access: ContextArguments

    @Argument(help: "The URL of the response")
    var url: String

    @Argument(help: "Values of Set-Cookie headers, such as 'id=42; Path=/; Secure'")
    var setCookie: [String]

    func run() async throws {
        let url = try HTTPURL(argument: url)
        let outcomes = try await arguments.change { $0.store(setCookie, from: url, context: access.context) }
        for outcome in outcomes { try StandardOutput.writeLine(outcome) }
    }
}
