// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Runs the background work until its task is cancelled or ``shutdown()`` is called: watches the network and the
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
        await restore()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.watchNetwork() }
            group.addTask { await self.watchSwitch() }
            group.addTask { await self.writeRegularly() }
            group.addTask { await self.countRegularly() }
            for (number, upstream) in configuration.upstreams.enumerated() {
                guard let upstream = upstream as? any ScheduledUpstream else { continue }
                // Another network may have other servers nearby.
                group.addTask { await self.repeatedly(number) { _ in await upstream.reschedule() } }
            }
            group.addTask { await self.watchNAT64(number: self.configuration.upstreams.count) }
            for host in configuration.keptFresh {
                group.addTask { await self.keepFresh(host) }
            }
            group.addTask { await self.closed() }
            // The other tasks return early only if they have nothing to do.
            while await group.next() != nil, !Task.isCancelled, !state.withLockedValue({ $0.isClosed }) {}
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
            let changes = state.withLockedValue { $0.networkChanges }
            let pause = await work(hasWaited)
            hasWaited = await withTaskGroup(of: Bool.self) { group in
                if let pause { group.addTask { (try? await self.time.sleep(pause)) != nil } }
                group.addTask {
                    await self.networkChange(after: changes, number)
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
            }
        }
    }

    /// Returns after the network has changed more than `count` times, or when the task is cancelled.
    private func networkChange(after count: Int, _ number: Int) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let isOver = state.withLockedValue { state in
            guard state.networkChanges == count else { return true }
            state.onNetworkChange[number] = continuation
            return false
        }
        if isOver { return }
        for await _ in stream {}
    }

    /// Returns when the resolver is shut down or the task is cancelled.
    func closed() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let number = state.withLockedValue { state -> Int? in
            guard !state.isClosed else { return nil }
            defer { state.nextCloseWatcher += 1 }
            state.onClose[state.nextCloseWatcher] = continuation
            return state.nextCloseWatcher
        }
        guard let number else { return }
        for await _ in stream {}
        state.withLockedValue { $0.onClose[number] = nil }
    }

    // MARK: Background work

    private func watchNetwork() async {
        guard let monitor = configuration.networkMonitor else { return }
        let changes = monitor.changes()
        var last = monitor.current()
        if last != network { await networkChanged(to: last, isFirst: true) }
        // Asking again takes long in a network that does not answer; run it in a task so that the next change is seen.
        var asking: Task<Void, Never>?
        for await _ in changes {
            guard (try? await time.sleep(configuration.networkDebounce)) != nil else { break }
            let now = monitor.current()
            guard now != last else { continue }
            last = now
            asking?.cancel()
            let hosts = await begin(in: now, isFirst: false)
            asking = Task { await self.askAgain(hosts) }
        }
        asking?.cancel()
        await asking?.value
    }

    /// Retries the NAT64 discovery that failed when the network changed: the system's resolver is often reachable later
    /// than the network (RFC 7050 §3).
    private func watchNAT64(number: Int) async {
        let pauses = (first: Duration.seconds(1), longest: Duration.seconds(60))
        var pause = pauses.first
        await repeatedly(number) { hasWaited in
            let (owes, now) = state.withLockedValue { ($0.owesNAT64, $0.networkChanges) }
            guard owes else { return nil }
            guard hasWaited else {
                pause = pauses.first
                return pause
            }
            guard await learnNAT64() else {
                pause = min(pause * 2, pauses.longest)
                return pause
            }
            state.withLockedValue { state in
                if state.networkChanges == now { state.owesNAT64 = false }
            }
            return nil
        }
    }

    private func watchSwitch() async {
        guard let remote = configuration.remoteSwitch else { return }
        await repeatedly {
            expireRemoteDocument()
            do throws(UpstreamError) {
                received(try await remote.fetch())
                return untilExpiry(atMost: remote.interval)
            } catch {
                let pause = state.withLockedValue { $0.remote.failed(interval: remote.interval) }
                return untilExpiry(atMost: pause)
            }
        }
    }

    /// The time until the remote switch's document expires, at least 1 s and at most `pause`.
    private func untilExpiry(atMost pause: Duration) -> Duration {
        let expires = state.withLockedValue { $0.remote.document?.expires }
        guard let expires else { return pause }
        return min(pause, .seconds(max(1, expires - time.wall())))
    }

    private func keepFresh(_ host: Host) async {
        await repeatedly {
            guard let resolution = try? await resolve(host) else { return .seconds(30) }
            guard resolution.source != .fresh else { return max(resolution.ttl * 3 / 4, .seconds(1)) }
            let left = resolution.ttl - (resolution.ttl + resolution.age) / 4
            if left > .zero { return left }
            let fresh = try? await resolve(host, fresh: true)
            return max((fresh?.ttl ?? .seconds(30)) * 3 / 4, .seconds(1))
        }
    }

    private func writeRegularly() async {
        guard configuration.store != nil else { return }
        while (try? await time.sleep(configuration.storeInterval)) != nil { await save() }
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
}
