// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for the cookies that are sent and the files that keep them.
struct CookieArguments: FetchOptionGroup {
    var cookie: [String] = []
    var cookieJar: String?
    var jar: String?
    var maxCookies: Int?
    /// The files of `--hsts`.
    var hsts: [String] = []
    var noCookies = false
    var dropsSession = false

    static let options: [FetchOption] = [
        .text("cookie", "b", value: "data", help: "Send cookies, as \"a=b; c=d\" or from a file") {
            $0.cookies.cookie.append($1)
        }.path(),
        .text("cookie-jar", "c", value: "file", help: "Write all cookies to this file at the end") {
            $0.cookies.cookieJar = $1
        }.path(),
        .text("jar", value: "file", help: "Read cookies from this file or server and write them back at the end") {
            $0.cookies.jar = $1
        }.path(),
        .text("hsts", value: "file", help: "Read the hosts that require TLS from this file and write them back") {
            $0.cookies.hsts.append($1)
        }.path(),
        .number("max-cookies", help: "Maximum number of cookies in the jar (default: 3000)", in: 1...1_000_000) {
            $0.cookies.maxCookies = $1
        },
        .flag("junk-session-cookies", "j", help: "Drop the session cookies of the files of -b") {
            $0.cookies.dropsSession = $1
        },
        .flag("no-cookies", help: "Do not send or keep cookies, except those of -H") { $0.cookies.noCookies = $1 },
    ]
}
