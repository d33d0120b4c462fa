// SPDX-License-Identifier: Apache-2.0

#if Redis
/// The connections for shared answers: one to the given server, and one to each other server of a cluster that it
/// redirects to. One thread uses them.
///
/// The given server must work. While another server of the cluster is unavailable, its keys seem to have no values, and
/// it is tried again at intervals. No exchange waits for a connection to another server: the caller opens it
/// afterwards.
struct AnswerLinks: Sendable {
    /// A further server of a cluster.
    private struct Shard {
        var link: RedisLink?
        var pause: RetryPause
        /// The earliest time of the next attempt; nil if the server works.
        var retry: ContinuousClock.Instant?
    }

    /// Where commands are sent.
    private struct Route: Hashable {
        /// Nil for the given server.
        var shard: RedisHost?
        /// Whether to send `ASKING` first, because the slot is being moved to the server.
        var isAsking = false
    }

    /// The maximum number of further servers. Above it, all are forgotten and found again by their redirections.
    private static let maxShards = 64
    /// How long to wait for the address of a further server, in seconds. If it comes later, the next attempt uses it.
    private static let patience = 1.0

    private let connector: RedisConnector
    private let retryDelay: ClosedRange<Duration>
    private var main: RedisLink?
    /// Whether no exchange over the connection to the given server has succeeded.
    private var isNew = false
    private var shards: [RedisHost: Shard] = [:]
    private var slots = ClusterSlots()
    private var faults: [String] = []
    /// A further server that the last exchange needed and that may be connected to now.
    private(set) var wanted: RedisHost?

    init(_ connector: RedisConnector, retryDelay: ClosedRange<Duration>) {
        (self.connector, self.retryDelay) = (connector, retryDelay)
    }

    // MARK: The given server

    /// Whether there is a connection.
    var isOpen: Bool { main != nil }

    /// Whether the connection is usable, or there is none.
    var isUsable: Bool { main?.isUsable ?? true }

    /// Whether the last exchange found that the server had closed a connection that had worked.
    var wasCut: Bool { !isNew && main?.wasCut ?? false }

    /// Why the connection is no longer usable.
    var fault: String { main?.fault ?? "the connection was closed" }

    /// Opens a connection, and replaces the present one.
    mutating func connect() throws(RedisFault) {
        let old = main
        main = nil
        main = if let old { try connector.reconnect(old) } else { try connector.connect() }
        isNew = true
    }

    /// Closes all connections.
    mutating func close() {
        (main, wanted) = (nil, nil)
        shards = [:]
    }

    // MARK: Commands

    /// Executes commands that have a key as their first argument. Nil without a usable connection to the given server.
    /// The reply is ``RedisValue/unexpected`` if the key belongs to another server that cannot be used, that has no
    /// connection yet, or that is reached only after the time limit of an exchange.
    mutating func exchange(_ commands: [RedisCommand]) -> [RedisValue]? {
        var replies = [RedisValue](repeating: .unexpected, count: commands.count)
        let end = ContinuousClock.now + connector.timeout
        var indices: [Route: [Int]] = [:]
        for (index, command) in commands.enumerated() { indices[route(command), default: []].append(index) }
        for _ in 0...RedisRedirection.maxCount {
            var redirected: [Route: [Int]] = [:]
            for (route, indices) in indices where route.shard == nil || ContinuousClock.now < end {
                guard let values = exchange(indices.map { commands[$0] }, route) else {
                    guard route.shard == nil else { continue }
                    return nil
                }
                for (index, value) in zip(indices, values) {
                    if let next = redirection(value, from: route) {
                        redirected[next, default: []].append(index)
                    } else {
                        replies[index] = value
                        if route == Route(), value.refusal == nil { keep(commands[index]) }
                    }
                }
            }
            isNew = false
            guard !redirected.isEmpty else { return replies }
            indices = redirected
        }
        faults.append(RedisRedirection.tooMany)
        return replies
    }

    /// The known server of a command's key; the given server if none is known.
    private func route(_ command: RedisCommand) -> Route {
        guard !slots.isEmpty, command.count > 1, let host = slots.host(of: command[1]) else { return Route() }
        // Another server may have taken over the slots of a failed one. The given server redirects to it.
        return shards[host]?.retry == nil ? Route(shard: host) : Route()
    }

    private mutating func redirection(_ value: RedisValue, from route: Route) -> Route? {
        guard let refusal = value.refusal, let main,
            let redirection = RedisRedirection(refusal, from: route.shard ?? main.host)
        else { return nil }
        let shard = redirection.target == main.host ? nil : redirection.target
        if !redirection.isTemporary { move(redirection.slot, to: shard) }
        return Route(shard: shard, isAsking: redirection.isTemporary)
    }

    /// Records that the given server has the key of a command.
    private mutating func keep(_ command: RedisCommand) {
        if !slots.isEmpty, command.count > 1 { move(ClusterSlots.slot(of: command[1]), to: nil) }
    }

    /// Records the server of a slot; nil for the given server. A failed server that loses a slot was replaced, so it is
    /// forgotten. If it still has slots, the given server redirects to it.
    private mutating func move(_ slot: Int, to shard: RedisHost?) {
        if let old = slots[slot], old != shard, shards[old]?.retry != nil {
            shards[old] = nil
            slots.forget(old)
        }
        slots.move(slot, to: shard)
    }

    private mutating func exchange(_ commands: [RedisCommand], _ route: Route) -> [RedisValue]? {
        // `ASKING` applies to the next command only.
        let asking = [Array("ASKING".utf8)]
        let words = route.isAsking ? commands.flatMap { [asking, $0] } : commands
        guard let host = route.shard else { return Self.replies(main?.exchange(words), to: route) }
        guard let link = shard(host) else { return nil }
        let replies = Self.replies(link.exchange(words), to: route)
        let refusal = replies?.lazy.compactMap(\.refusal).first { RedisRedirection($0, from: host) == nil }
        if let fault = replies == nil ? link.fault : refusal {
            pauseUse(of: host, fault)
            return nil
        }
        shards[host]?.pause.reset()
        return replies
    }

    /// The replies without those to ASKING.
    private static func replies(_ replies: [RedisValue]?, to route: Route) -> [RedisValue]? {
        guard let replies, route.isAsking else { return replies }
        return stride(from: 1, to: replies.count, by: 2).map { replies[$0] }
    }

    // MARK: Other servers of a cluster

    /// Whether no further server waits for its next attempt.
    var areAllUp: Bool { shards.values.allSatisfy { $0.retry == nil } }

    /// Returns and forgets why further servers cannot be used.
    mutating func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    /// The connection to a further server. Nil if there is none; ``openWanted()`` may then open it after the exchange.
    private mutating func shard(_ host: RedisHost) -> RedisLink? {
        if let link = shards[host]?.link, link.isUsable { return link }
        if let retry = shards[host]?.retry, retry > .now { return nil }
        if wanted == nil { wanted = host }
        return nil
    }

    /// Connects to the further server that the last exchange needed. Blocks for at most a second and the time of a few
    /// exchanges.
    mutating func openWanted() {
        guard let host = wanted.take() else { return }
        if shards[host] == nil, shards.count >= Self.maxShards { shards = [:] }
        do throws(RedisFault) {
            let link = try connector.open(host, patience: Self.patience)
            shards[host, default: Shard(pause: RetryPause(retryDelay))].link = link
            shards[host]?.retry = nil
        } catch {
            pauseUse(of: host, error.reason)
        }
    }

    private mutating func pauseUse(of host: RedisHost, _ reason: String) {
        var shard = shards[host] ?? Shard(pause: RetryPause(retryDelay))
        shard.link = nil
        shard.retry = .now + shard.pause.next()
        shards[host] = shard
        faults.append("\(host): \(reason)")
    }
}
#endif
