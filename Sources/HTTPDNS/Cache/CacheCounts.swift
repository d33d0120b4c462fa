// SPDX-License-Identifier: Apache-2.0

/// The number of cache lookups, by result.
package struct CacheCounts: Hashable, Sendable {
    /// Lookups that found an answer within its TTL.
    package var cached = 0
    /// Lookups that found an answer past its TTL.
    package var stale = 0
    /// Lookups that found that there is no address, or that all upstreams failed recently.
    package var absent = 0
    /// Lookups that found nothing.
    package var missed = 0

    /// Counts of zero.
    package init() {}

    /// Adds the counts of another cache.
    package mutating func add(_ other: CacheCounts) {
        cached &+= other.cached
        stale &+= other.stale
        absent &+= other.absent
        missed &+= other.missed
    }

    mutating func add(_ found: CachedAnswers.Found) {
        switch found {
        case .current: cached &+= 1
        case .stale: stale &+= 1
        case .absent: absent &+= 1
        case .unknown: missed &+= 1
        }
    }
}
