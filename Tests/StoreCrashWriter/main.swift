// SPDX-License-Identifier: Apache-2.0

import BeelineStore
import CookieJar
import LibC
import Names

// Tests start and kill this process: `StoreCrashWriter rounds FILE SEED` or `StoreCrashWriter serve FILE`.

/// Writes a line to standard output without a buffer, because a killed process does not flush.
func say(_ line: String) {
    let octets = Array((line + "\n").utf8)
    _ = octets.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
}

var configuration = CookieDatabaseConfiguration()
configuration.restoresSession = true
configuration.writeDelay = .milliseconds(2)
configuration.refreshInterval = .milliseconds(5)
configuration.writeBatchCount = 50
let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    say("usage: StoreCrashWriter rounds FILE SEED | serve FILE")
    exit(64)
}
do throws(any Error) {
    let store = try await CookieDatabase.open(arguments[2], configuration: configuration)
    switch arguments[1] {
    case "rounds":
        var rounds = Rounds(store, seed: UInt64(arguments.last ?? "") ?? 0)
        try await rounds.run()
    default: try await Service(store).run()
    }
} catch {
    say("error \(error)")
    exit(1)
}
