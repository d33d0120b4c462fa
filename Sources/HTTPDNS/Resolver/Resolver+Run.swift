// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// The state of the background work.
    struct Background {
        /// The number of network changes that are complete.
        var networkChanges = 0
        /// Streams that finish when the network changes, by the number of the waiting work.
        var onNetworkChange: [Int: AsyncStream<Void>.Continuation] = [:]
        /// Whether the network's NAT64 prefixes are still unknown.
        var lacksNAT64 = false
        /// Failed attempts to read the store; nil after a success.
        var failedRestores: Int? = 0
    }

    /// Runs the background work until its task is cancelled or ``shutDown()`` is called: watches the network and the
    /// remote switch, keeps names fresh and upstreams' addresses up to date, and writes answers to the store. Call it
    /// once, in a task of your program. The resolver works without it, but does none of this.
    ///
    /// ```swift
    /// try await withThrowingTaskGroup { group in
    ///     group.addTask { await resolver.run() }
    ///     …
    /// }
    /// ```
    public func run() async {
        let isNetworkNew = findNetwork()
        await restore()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watchNetwork(isNew: isNetworkNew) }
            group.addTask { await self.watchSwitch() }
            group.addTask { await self.writeRegularly() }
            group.addTask { await self.countRegularly() }
            for (number, upstream) in configuration.upstreams.enumerated() {
                guard let upstream = upstream as? any ScheduledUpstream else { continue }
                // Another network may have other servers nearby.
                group.addTask { await self.repeatedly(number) { _ in await upstream.reschedule() } }
            }
            group.addTask { await self.watchNAT64(number: self.configuration.upstreams.count) }
            for host in configuration.refresh.hosts {
                group.addTask { await self.keepFresh(host) }
            }
            group.addTask { await self.closed() }
            // The other tasks return early only if they have nothing to do.
            while await group.next() != nil, !Task.isCancelled, !state.withLockedValue({ $0.machine.isClosed }) {}
            group.cancelAll()
        }
        await save()
    }

    /// Runs `work` repeatedly, with the pause that it returns.
    private func repeatedly(_ work: () async -> Duration) async {
        while !Task.isCancelled {
            let pause = await work()
            guard (try? await time.sleep(pause)) != nil else { return }
        }
    }

    /// Runs `work` repeatedly: after the pause that it returns, or when the network changes. If it returns nil, only
    /// when the network changes.
    ///
    /// - Parameters:
    ///   - number: A number that is unique to this work.
    ///   - work: The work; its argument is whether the pause has passed.
    private func repeatedly(_ number: Int, _ work: (_ hasWaited: Bool) async -> Duration?) async {
        var hasWaited = false
        while !Task.isCancelled {
            let changes = state.withLockedValue { $0.background.networkChanges }
            let pause = await work(hasWaited)
            hasWaited = await withTaskGroup(of: Bool.self) { group in
                if let pause { group.addTask { (try? await self.time.sleep(pause)) != nil } }
                group.addTask {
                    await self.networkChange(after: changes, number: number)
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
        }
    }

    /// Returns after the network has changed more than `count` times, or when the task is cancelled.
    private func networkChange(after count: Int, number: Int) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let isOver = state.withLockedValue { state in
            guard state.background.networkChanges == count else { return true }
            state.background.onNetworkChange[number] = continuation
            return false
        }
        if isOver { return }
        for await _ in stream {}
    }

    // MARK: Background work

    /// Asks the monitor once for an unknown network. Returns whether the monitor knows it; if not, ``watchNetwork(isNew:)`` waits
    /// for it. Called before the store is read, because the answers so far belong to this network only if no other has answers.
    private func findNetwork() -> Bool {
        guard network == .unknown, let found = configuration.network.monitor?.current(), found != .unknown else {
            return false
        }
        handle(.networkFound(found), now: time.now())
        return true
    }

    /// - Parameter isNew: Whether ``findNetwork()`` found the network.
    private func watchNetwork(isNew: Bool) async {
        guard let monitor = configuration.network.monitor else { return }
        let changes = monitor.changes()
        var last = monitor.current()
        // Asking again takes long in a network that does not answer; run it in a task so that the next change is seen.
        var asking: Task<Void, Never>?
        if isNew || last != network {
            let hosts = await begin(in: last, isFirst: true)
            asking = Task { await self.askAgain(hosts) }
        }
        for await _ in changes {
            guard (try? await time.sleep(configuration.network.debounce)) != nil else { break }
            let now = monitor.current()
            guard now != last else { continue }
            last = now
            asking?.cancel()
            let hosts = await begin(in: now, isFirst: false)
            asking = Task { await self.askAgain(hosts) }
        }
        // The changes also end where the system reports none.
        guard let lastTask = asking else { return }
        await withTaskCancellationHandler {
            await lastTask.value
        } onCancel: {
            lastTask.cancel()
        }
    }

    /// Retries the NAT64 discovery that failed when the network changed: the system's resolver is often reachable later
    /// than the network (RFC 7050 §3).
    private func watchNAT64(number: Int) async {
        let pauses = (first: Duration.seconds(1), longest: Duration.seconds(60))
        var pause = pauses.first
        await repeatedly(number) { hasWaited in
            let (lacksPrefixes, now) = state.withLockedValue {
                ($0.background.lacksNAT64, $0.background.networkChanges)
            }
            guard lacksPrefixes else { return nil }
            guard hasWaited else {
                pause = pauses.first
                return pause
            }
            guard await findNAT64() else {
                pause = min(pause * 2, pauses.longest)
                return pause
            }
            state.withLockedValue { state in
                if state.background.networkChanges == now { state.background.lacksNAT64 = false }
            }
            return nil
        }
    }

    private func watchSwitch() async {
        guard let remote = configuration.remoteSwitch else { return }
        await repeatedly {
            do throws(UpstreamError) {
                let document = try await remote.fetch()
                handle(.documentReceived(document, wall: time.wall()), now: time.now())
            } catch {
                handle(.documentMissed, now: time.now())
            }
            // After the fetch, so that a document applies until the next one, if there is one.
            handle(.documentChecked(wall: time.wall()), now: time.now())
            let remoteState = state.withLockedValue { $0.machine.remote }
            return remoteState.pause(interval: remote.interval, now: time.wall())
        }
    }

    private func keepFresh(_ host: Host) async {
        await repeatedly {
            guard let resolution = try? await resolveAhead(host) else { return .seconds(30) }
            guard resolution.source != .fresh else { return max(resolution.ttl * 3 / 4, .seconds(1)) }
            let left = resolution.ttl - (resolution.ttl + resolution.age) / 4
            if left > .zero { return left }
            let fresh = try? await resolveAhead(host, fresh: true)
            return max((fresh?.ttl ?? .seconds(30)) * 3 / 4, .seconds(1))
        }
    }

    private func countRegularly() async {
        guard let metrics = configuration.metrics else { return }
        var last = CacheCounts()
        while (try? await time.sleep(.seconds(10))) != nil {
            let now = counts
            metrics.found(now, since: last)
            last = now
        }
    }

    // MARK: The store

    /// Reads the store's answers into the cache. Skips answers that are more than ``ResolverConfiguration/Cache/maxStale``
    /// past their TTL, and names that are already cached, because those are newer. ``run()`` calls it at its start.
    public func restore() async {
        guard let store = configuration.cache.store else { return }
        guard let answers = try? await store.load() else {
            return state.withLockedValue { state in
                if let failed = state.background.failedRestores { state.background.failedRestores = failed + 1 }
            }
        }
        state.withLockedValue { $0.background.failedRestores = nil }
        let wall = time.wall()
        let now = time.now()
        let known = Array(answers.prefix(configuration.cache.maxNames))
        // A few at a time, because callers wait for the lock.
        for start in stride(from: 0, to: known.count, by: 64) {
            handle(.restored(Array(known[start..<min(start + 64, known.count)]), wall: wall), now: now)
        }
    }

    /// Failed reads after which a store is overwritten.
    private static let maxRestores = 5

    /// Writes the answers of services to the store. ``run()`` calls it every minute and at its end.
    public func save() async {
        guard let store = configuration.cache.store else { return }
        // A store that is temporarily unreadable must not be replaced by the few names of this run; a damaged one must.
        if state.withLockedValue({ $0.background.failedRestores }) != nil {
            await restore()
            let failed = state.withLockedValue { $0.background.failedRestores }
            if let failed, failed < Self.maxRestores { return }
        }
        let (entries, scopes) = state.withLockedValue { ($0.machine.answers.cache.all(), $0.machine.scopes.all) }
        let networks = Dictionary(scopes.map { ($0.scope, $0.id) }, uniquingKeysWith: { first, _ in first })
        let (wall, now) = (time.wall(), time.now())
        let answers = entries.compactMap { key, entry in
            networks[key.scope].flatMap { network in
                StoredAnswer(
                    entry,
                    name: key.name,
                    network: network,
                    maxStale: configuration.cache.maxStale,
                    wall: wall,
                    now: now
                )
            }
        }
        try? await store.save(answers)
    }

    private func writeRegularly() async {
        guard configuration.cache.store != nil else { return }
        while (try? await time.sleep(configuration.cache.storeInterval)) != nil { await save() }
    }
}
