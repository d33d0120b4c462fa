// SPDX-License-Identifier: Apache-2.0

/// Counters that several servers share, such as those of a Redis, for the quotas of accounts.
///
/// The server waits at most 100 ms for a call. If there is no answer, it counts alone for a moment, so that questions do
/// not wait for an unavailable store.
public protocol QuotaStore: Sendable {
    /// Adds to a counter and returns its new value. A counter that does not exist starts at 0.
    ///
    /// - Parameters:
    ///   - amount: What to add, at least 1.
    ///   - key: The counter: the account's ID and the start of the second or day.
    ///   - lifetime: How long the counter must be kept after this call. At most two days.
    /// - Returns: Nil if the store cannot be reached.
    func add(_ amount: Int, to key: String, lifetime: Duration) async -> Int?
}

/// How many questions an account may ask, on all servers that share a ``QuotaStore`` together. Each name and family of a question
/// counts as one.
public struct AccountQuota: Hashable, Sendable {
    /// Questions in each second. Nil for no limit.
    public var perSecond: Int?
    /// Questions in each day (UTC). Nil for no limit.
    public var perDay: Int?

    /// Makes a quota.
    public init(perSecond: Int? = nil, perDay: Int? = nil) {
        self.perSecond = perSecond
        self.perDay = perDay
    }
}
