// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CookieJar

/// The option that limits the size of a jar.
struct JarBoundArguments: ParsableArguments {
    @Option(help: ArgumentHelp("Maximum number of cookies in the jar (default: 3000)", valueName: "number"))
    var maxCookies: Int?

    /// Returns the jar's configuration with the limit applied.
    ///
    /// - Throws: ``CommandFailure`` if the limit is not within 1 to 1,000,000.
    func configuration() throws(CommandFailure) -> CookieJarConfiguration {
        var configuration = CookieJarConfiguration()
        guard let maxCookies else { return configuration }
        guard (1...1_000_000).contains(maxCookies) else {
            throw CommandFailure(.usage, "--max-cookies \(maxCookies): write 1 to 1000000")
        }
        configuration.maxCookies = maxCookies
        return configuration
    }
}
