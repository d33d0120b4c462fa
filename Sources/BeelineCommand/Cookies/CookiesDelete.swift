// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar
import Names

/// `beeline cookies delete`: deletes the cookies for a URL.
struct CookiesDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete the cookies that a request for a URL would send, and print their number."
    )

    @OptionGroup var arguments: JarArguments

    @Argument(help: "The URL")
    var url: String

    @Argument(help: "Delete only cookies with these names")
    var name: [String] = []

    func run() async throws {
        let url = try HTTPURL(argument: url)
        let count = try await arguments.change { jar in
            guard !name.isEmpty else { return jar.removeAll(for: url) }
            return jar.removeAll(for: url) { name.contains($0.name) }
        }
        try StandardOutput.writeLine("deleted \(count)")
    }
}

/// `beeline cookies clear`: deletes all cookies or all session cookies.
struct CookiesClear: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Delete all cookies of the jar, and print their number."
    )

    @OptionGroup var arguments: JarArguments

    @Flag(help: "Delete only session cookies, which have no expiry")
    var session = false

    func run() async throws {
        let count = try await arguments.change { session ? $0.endSession() : $0.removeAll() }
        try StandardOutput.writeLine("deleted \(count)")
    }
}
