// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the cookies that are sent and the files that keep them.
struct CookieArguments: ParsableArguments {
    @Option(
        name: [.customShort("b"), .customLong("cookie")],
        help: ArgumentHelp("Send these, as \"a=b; c=d\", or those of a file", valueName: "data")
    )
    var cookie: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: ArgumentHelp("Write the cookies to this file at the end", valueName: "file")
    )
    var cookieJar: String?

    @Option(help: ArgumentHelp("Read cookies from this file, and write them back", valueName: "file"))
    var jar: String?

    @OptionGroup var bound: JarBoundArguments

    @Flag(help: "Send and keep no cookies but those of -H")
    var noCookies = false
}
