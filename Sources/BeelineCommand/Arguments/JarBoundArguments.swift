// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar

/// The option that limits the size of a jar.
struct JarBoundArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp("Maximum number of cookies in a jar that is a file (default: 3000)", valueName: "number")
    )
    var maxCookies: Int?

    /// Returns the jar's configuration with the limit applied.
    ///
    /// - Throws: ``CommandFailure`` if the limit is not within 1 to 1,000,000.
    func configuration() throws(CommandFailure) -> CookieJarConfiguration {
        try CookieJarConfiguration(maxCookies: maxCookies)
    }
}

extension CookieJarConfiguration {
    /// Makes a configuration with a limit for the number of cookies; nil is the default.
    ///
    /// - Throws: ``CommandFailure`` if the limit is not within 1 to 1,000,000.
    init(maxCookies: Int?) throws(CommandFailure) {
        self.init()
        guard let maxCookies else { return }
        guard (1...1_000_000).contains(maxCookies) else {
            throw CommandFailure(.usage, "--max-cookies \(maxCookies): write 1 to 1000000")
        }
        self.maxCookies = maxCookies
    }
}
