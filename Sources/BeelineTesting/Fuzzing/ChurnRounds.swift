// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The number of steps of a churn test, which compares random insertions, deletions and lookups on a table with a simple model.
/// `BEELINE_CHURN=1000000` overrides the default of 20,000.
package enum ChurnRounds {
    package static let count =
        ProcessInfo.processInfo.environment["BEELINE_CHURN"].flatMap { Int($0) } ?? 20_000
}
