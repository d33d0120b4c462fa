// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number of rounds of a fuzz test. `BEELINE_FUZZ=1000000` overrides the ordinary number.
package enum FuzzRounds {
    package static func count(ordinary: Int) -> Int { number("BEELINE_FUZZ") ?? ordinary }
}

/// The number of steps of a churn test, which compares random insertions, deletions and lookups on a table with a simple model.
/// `BEELINE_CHURN=1000000` overrides the default of 20,000.
package enum ChurnRounds {
    package static let count = number("BEELINE_CHURN") ?? 20_000
}

private func number(_ variable: String) -> Int? {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
}
