// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the connection, redirects and time limits.
struct ConnectionArguments: FetchOptionGroup {
    var location = false
    var maxRedirs = 50
    var resolve: [String] = []
    var noHttpdns = false
    var proxy: String?
    var noproxy: String?
    var insecure = false
    var http1 = false
    var connectTimeout: Double?

    static let options: [FetchOption] = [
        .flag("location", "L", help: "Follow redirects") { $0.connection.location = $1 },
        .number("max-redirs", help: "Maximum number of redirects; -1 for no limit", in: -1...Int(Int32.max)) {
            $0.connection.maxRedirs = $1
        },
        .text("resolve", value: "place", help: "Connect to HOST:PORT:ADDR[,ADDR]; may be repeated") {
            $0.connection.resolve.append($1)
        },
        .flag("no-httpdns", help: "Resolve names with the system's resolver only") { $0.connection.noHttpdns = $1 },
        .text("proxy", "x", value: "url", help: "Use this proxy; \"\" for none") { $0.connection.proxy = $1 },
        .text("noproxy", value: "list", help: "List of hosts that do not use the proxy") { $0.connection.noproxy = $1 },
        .flag("insecure", "k", help: "Accept any certificate; the server may be an impostor") {
            $0.connection.insecure = $1
        },
        .flag("http1.1", help: "Use HTTP/1.1") { $0.connection.http1 = $1 },
        .flag("http2", help: "Use HTTP/2 if the server supports it") { $0.connection.http1 = !$1 },
        .seconds("connect-timeout", help: "Maximum time to connect, in seconds (default: 10)") {
            $0.connection.connectTimeout = $1
        },
    ]
}
