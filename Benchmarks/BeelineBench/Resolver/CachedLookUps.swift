// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import HTTPDNS
import Names

/// Lookups of names that are in the cache, round and round.
struct CachedLookUps {
    let resolver: Resolver
    let hosts: [Host]
    let families: Families

    struct Result {
        var done = 0
        var missing = 0
        var perSecond = 0.0
        var nanosecondsOfCPU = 0.0
    }

    /// Runs on this thread.
    ///
    /// - Parameter part: where in the names it begins, from 0 to 1: threads that go along the same names behind one another are
    ///   not what programs do.
    func run(for duration: Duration, from part: Double = 0) -> Result {
        let start = Int(Double(hosts.count) * part)
        let hosts = Array(hosts[start...] + hosts[..<start])
        let clock = ContinuousClock()
        let begin = clock.now
        let startCPU = ProcessTime.microseconds()
        var result = Result()
        while clock.now - begin < duration {
            // A thousand between two looks at the clock.
            for _ in 0..<max(1, 1_000 / hosts.count) {
                for host in hosts where resolver.cached(host, families: families) == nil { result.missing += 1 }
                result.done += hosts.count
            }
        }
        let time = clock.now - begin
        result.perSecond = Double(result.done) / (Double(time.nanoseconds) / 1e9)
        result.nanosecondsOfCPU = Double(ProcessTime.microseconds() - startCPU) * 1_000 / Double(result.done)
        return result
    }
}
