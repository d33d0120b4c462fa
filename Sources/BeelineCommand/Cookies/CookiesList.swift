// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar

/// `beeline cookies list`: prints the cookies in the jar.
struct CookiesList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the cookies, one per line: DOMAIN and the Set-Cookie header that sets it.",
        discussion: "If the domain has no leading dot, the cookie is sent to that host only."
    )

    @OptionGroup var arguments: JarArguments

    @Flag(help: "Print a JSON array")
    var json = false

    func run() async throws {
        let cookies = try await arguments.read { $0.allCookies() }.sorted {
            ($0.domain, $0.path, $0.name) < ($1.domain, $1.path, $1.name)
        }
        if json {
            try StandardOutput.write(cookies: CookieJSON.write(cookies))
        } else {
            let lines = cookies.map { cookie in
                let field = String(decoding: cookie.setCookieOctets, as: UTF8.self)
                return "\(cookie.isHostOnly ? "" : ".")\(cookie.domain) \(field)".singleLine + "\n"
            }
            try StandardOutput.write(lines.joined().utf8)
        }
    }
}
