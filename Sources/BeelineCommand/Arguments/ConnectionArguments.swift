// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the connection, redirects, time limits and retries.
struct ConnectionArguments: ParsableArguments {
    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects")
    var location = false

    @Option(help: ArgumentHelp("Maximum number of redirects; -1 for no limit", valueName: "number"))
    var maxRedirs = 50

    @Option(help: ArgumentHelp("Connect to HOST:PORT:ADDR[,ADDR]; may be repeated", valueName: "place"))
    var resolve: [String] = []

    @Flag(help: "Resolve names with the system's resolver only")
    var noHttpdns = false

    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp("Use this proxy; \"\" for none", valueName: "url")
    )
    var proxy: String?

    @Option(help: ArgumentHelp("List of hosts that do not use the proxy", valueName: "list"))
    var noproxy: String?

    @Flag(
        name: [.customShort("k"), .customLong("insecure")],
        help: "Accept any certificate; the server may be an impostor"
    )
    var insecure = false

    @Flag(name: [.customLong("http1.1")], help: "Use HTTP/1.1")
    var http1 = false

    @Flag(name: [.customLong("http2")], help: "Use HTTP/2 if the server supports it")
    var http2 = false

    @Option(help: ArgumentHelp("Maximum time to connect, in seconds (default: 10)", valueName: "sec"))
    var connectTimeout: Double?

    @Option(
        name: [.customShort("m"), .customLong("max-time")],
        help: ArgumentHelp("Maximum time for each URL, in seconds", valueName: "sec")
    )
    var maxTime: Double?

    @Option(help: ArgumentHelp("Number of retries after transient errors", valueName: "number"))
    var retry = 0

    @Option(help: ArgumentHelp("Time to wait before each retry, in seconds", valueName: "sec"))
    var retryDelay: Double?
}
