// SPDX-License-Identifier: Apache-2.0

/// How often look-ups found what.
public struct CacheCounts: Hashable, Sendable {
    /// An answer within its TTL.
    public var cached = 0
    /// An answer past its TTL.
    public var stale = 0
    /// That there is no address, or that nobody could say just now.
    public var absent = 0
    /// Nothing.
    public var missed = 0

    /// None yet.
    public init() {}

    mutating func add(_ found: Resolver.Found) {
        switch found {
        case .current: cached &+= 1
        case .stale: stale &+= 1
        case .absent: absent &+= 1
        case .unknown: missed &+= 1
        }
    }

    static func + (one: CacheCounts, other: CacheCounts) -> CacheCounts {
        var sum = one
        sum.cached &+= other.cached
        sum.stale &+= other.stale
        sum.absent &+= other.absent
        sum.missed &+= other.missed
        return sum
    }
}
