// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `beeline cookies`: shows and edits a cookie jar.
struct CookiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cookies",
        abstract: "Show and change a cookie jar.",
        subcommands: [
            CookiesList.self, CookiesHeader.self, CookiesSet.self, CookiesDelete.self, CookiesClear.self,
            CookiesImport.self, CookiesExport.self, CookiesReplay.self,
        ]
    )
}
