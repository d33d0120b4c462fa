// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Options for logins from files.
struct LoginOptions: FetchOptionGroup {
    enum Use: Hashable, Sendable {
        case none
        /// `--netrc-optional`: a URL's user and password come first, and the file may be missing.
        case optional
        /// `--netrc`: the file comes before a URL's user and password.
        case required
    }

    var use = Use.none
    var file: String?

    static let options: [FetchOption] = [
        .flag("netrc", "n", help: "Read user and password from ~/.netrc or $NETRC") {
            $0.login.use = $1 ? .required : .none
        },
        .flag("netrc-optional", help: "Like -n, but the URL's login comes first and the file may be missing") {
            $0.login.use = $1 ? .optional : .none
        },
        .text("netrc-file", value: "file", help: "Like -n with this file") {
            $0.login.file = $1
            if $0.login.use == .none { $0.login.use = .required }
        }.path(),
    ]
}
