// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the cookies that are sent and the files that keep them.
struct CookieArguments: ParsableArguments {
    @Option(
        name: [.customShort("b"), .customLong("cookie")],
        help: ArgumentHelp("Send cookies, as \"a=b; c=d\" or from a file", valueName: "data")
    )
    var cookie: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: ArgumentHelp("Write all cookies to this file at the end", valueName: "file"),
        completion: .file()
    )
    var cookieJar: String?

    @Option(
        help: ArgumentHelp("Read cookies from this file and write them back at the end", valueName: "file"),
        completion: .file()
    )
    var jar: String?

    @Option(
        help: ArgumentHelp(
            "Read the hosts that require TLS from this file and write them back at the end",
            valueName: "file"
        ),
        completion: .file()
    )
    var hsts: [String] = []

    @OptionGroup var bound: JarBoundArguments

    @Flag(help: "Do not send or keep cookies, except those of -H")
    var noCookies = false
}
