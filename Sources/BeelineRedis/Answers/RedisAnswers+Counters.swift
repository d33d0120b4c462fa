// SPDX-License-Identifier: Apache-2.0

#if Redis
extension RedisAnswers {
    /// Adds to a counter in the server and returns its new value. A counter that does not exist starts at 0. This is
    /// the method of `QuotaStore` in BeelineServer, so `extension RedisAnswers: @retroactive QuotaStore {}` is a
    /// complete conformance.
    ///
    /// - Parameters:
    ///   - amount: The number to add.
    ///   - key: The counter, after the prefix of the configuration and `quota:`.
    ///   - lifetime: How long the server keeps the counter from now on.
    /// - Returns: Nil if the server is unavailable, does not answer within the timeout, or has another type of value
    ///   under the key. The amount may nevertheless have been added, but never twice.
    public func add(_ amount: Int, to key: String, lifetime: Duration) async -> Int? {
        let name = "\(configuration.prefix)quota:\(key)"
        let commands = [["INCRBY", name, "\(amount)"], ["EXPIRE", name, "\(max(1, lifetime.components.seconds))"]]
        guard let replies = await ask(commands.map { $0.map { Array($0.utf8) } }, .count),
            case .integer(let total)? = replies.first
        else { return nil }
        return Int(total)
    }
}
#endif
