// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the connection, redirects and time limits.
struct ConnectionArguments: FetchOptionGroup {
    var location = false
    var maxRedirs = 50
    var resolve: [String] = []
    var noHttpdns = false
    var connectTimeout: Double?

    static let options: [FetchOption] = [
        .flag("location", "L", help: "Follow redirects") {
            if $1, $0.redirect.obeysStatus { $0.session.warn("--location overrides --follow") }
            ($0.connection.location, $0.redirect.obeysStatus) = ($1, false)
        },
        .number(
            "max-redirs",
            help: "Maximum number of redirects; -1 for no limit (default: 50)",
            in: -1...Int(Int32.max)
        ) { $0.connection.maxRedirs = $1 },
        .text("resolve", value: "place", help: "Connect to HOST:PORT:ADDR[,ADDR]; may be repeated") {
            $0.connection.resolve.append($1)
        },
        .flag("no-httpdns", help: "Resolve names with the system's resolver only") { $0.connection.noHttpdns = $1 },
        .seconds("connect-timeout", help: "Maximum time to connect, in seconds (default: 10)") {
            $0.connection.connectTimeout = $1
        },
    ]
}
