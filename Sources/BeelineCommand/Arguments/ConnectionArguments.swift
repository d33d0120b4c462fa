// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the connection, redirects, time limits and retries.
struct ConnectionArguments: ParsableArguments {
    @Flag(name: [.customShort("L"), .customLong("location")], help: "Follow redirects")
    var location = false

    @Option(help: ArgumentHelp("Follow at most so many; -1 is no limit", valueName: "number"))
    var maxRedirs = 50

    @Option(help: ArgumentHelp("Connect to HOST:PORT:ADDR[,ADDR]; repeat it", valueName: "place"))
    var resolve: [String] = []

    @Flag(help: "Leave names to the system's resolver")
    var noHttpdns = false

    @Option(
        name: [.customShort("x"), .customLong("proxy")],
        help: ArgumentHelp("Use this proxy, \"\" for none", valueName: "url")
    )
    var proxy: String?

    @Option(help: ArgumentHelp("Hosts that are reached without a proxy", valueName: "list"))
    var noproxy: String?

    @Flag(
        name: [.customShort("k"), .customLong("insecure")],
        help: "Accept any certificate; the server may be an impostor"
    )
    var insecure = false

    @Flag(name: [.customLong("http1.1")], help: "Speak HTTP/1.1")
    var http1 = false

    @Flag(name: [.customLong("http2")], help: "Speak HTTP/2 where the server does")
    var http2 = false

    @Option(help: ArgumentHelp("Seconds that connecting may take (default: 10)", valueName: "sec"))
    var connectTimeout: Double?

    @Option(
        name: [.customShort("m"), .customLong("max-time")],
        help: ArgumentHelp("Seconds that a URL may take in all", valueName: "sec")
    )
    var maxTime: Double?

    @Option(help: ArgumentHelp("Try again so often where it may help", valueName: "number"))
    var retry = 0

    @Option(help: ArgumentHelp("Seconds to wait before that", valueName: "sec"))
    var retryDelay: Double?
}
