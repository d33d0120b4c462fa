// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How many steps a churn test takes: random insertions, deletions and look-ups on a table, against a plain model of it.
/// `BEELINE_CHURN=1000000` raises the number.
package enum ChurnRounds {
    package static let count =
        ProcessInfo.processInfo.environment["BEELINE_CHURN"].flatMap { Int($0) } ?? 20_000
}
