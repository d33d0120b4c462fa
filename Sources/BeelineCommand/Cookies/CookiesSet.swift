// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar
import Names

/// `beeline cookies set`: stores Set-Cookie values as if from a response.
struct CookiesSet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Store what Set-Cookie fields of a response from a URL say.",
        discussion: "Prints kept, replaced, deleted or rejected and why, a line a field."
    )

    @OptionGroup var arguments: JarArguments
    @OptionGroup var who: ContextArguments

    @Argument(help: "The URL that the response comes from")
    var url: String

    @Argument(help: "The fields' values, such as 'id=42; Path=/; Secure'")
    var setCookie: [String]

    func run() async throws {
        let url = try HTTPURL(argument: url)
        let outcomes = try await arguments.change { $0.store(setCookie, from: url, context: who.context) }
        for outcome in outcomes { try StandardOutput.writeLine(outcome) }
    }
}
