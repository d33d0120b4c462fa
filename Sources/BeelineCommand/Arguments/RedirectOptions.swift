// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for redirects beside `-L`, and for the schemes of URLs.
struct RedirectOptions: FetchOptionGroup {
    /// `--follow`: the status also decides whether the method of `-X` is kept.
    var obeysStatus = false
    var trustsLocations = false
    var keepsPost: Set<Int> = []
    var schemes: [String] = []
    var redirectSchemes: [String] = []
    var defaultScheme: String?
    var forbidsUser = false

    static let options: [FetchOption] = [
        .flag("follow", help: "Follow redirects; the status decides the method") {
            if $1, $0.connection.location, !$0.redirect.obeysStatus { $0.session.warn("--follow overrides --location") }
            ($0.connection.location, $0.redirect.obeysStatus) = ($1, $1)
        },
        .flag("location-trusted", help: "Like -L, and send credentials and cookies of -H and -b to every host") {
            ($0.connection.location, $0.redirect.trustsLocations) = ($1, $1)
        },
        .flag("post301", help: "Keep POST after a 301") { $0.redirect.keep(301, $1) },
        .flag("post302", help: "Keep POST after a 302") { $0.redirect.keep(302, $1) },
        .flag("post303", help: "Keep POST after a 303") { $0.redirect.keep(303, $1) },
        .text("proto", value: "protocols", help: "Allow these schemes only, such as =https") {
            $0.redirect.schemes.append($1)
        },
        .text("proto-redir", value: "protocols", help: "Allow these schemes in redirects only") {
            $0.redirect.redirectSchemes.append($1)
        },
        .text("proto-default", value: "protocol", help: "Scheme of URLs without one (default: http)") {
            $0.redirect.defaultScheme = $1
        },
        .flag("disallow-username-in-url", help: "Refuse URLs with a user name") { $0.redirect.forbidsUser = $1 },
    ]

    private mutating func keep(_ status: Int, _ keeps: Bool) {
        if keeps { keepsPost.insert(status) } else { keepsPost.remove(status) }
    }
}
