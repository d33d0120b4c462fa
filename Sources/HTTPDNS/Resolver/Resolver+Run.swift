// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import Names

extension Resolver {
    /// Does what goes on by itself, until its task is cancelled or ``shutdown()`` is called: watches the network and
    /// the remote switch, keeps names fresh and upstreams' addresses up to date, and writes answers to the store.
    /// Call it once, in a task of your program's own; without it the resolver works, and does none of this.
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
                // What is near is another place in another network.
                group.addTask { await self.repeatedly(number) { _ in await upstream.reschedule() } }
            }
            group.addTask { await self.watchNAT64(number: self.configuration.upstreams.count) }
            for host in configuration.keptFresh {
                group.addTask { await self.keepFresh(host) }
            }
            group.addTask { await self.closed() }
            // All but the last end of themselves only when there is nothing for them to do.
            while await group.next() != nil, !Task.isCancelled, !state.withLockedValue({ $0.isClosed }) {}
            group.cancelAll()
        }
        await save()
    }

    /// Runs `work` again and again, each time after the time that it says.
    private func repeatedly(_ work: () async -> Duration) async {
        while !Task.isCancelled {
            let pause = await work()
            guard (try? await time.sleep(pause)) != nil else { return }
        }
    }

    /// Runs `work` again and again, each time after the time that it says, or once the network has changed; after nil only then.
    ///
    /// - Parameters:
    ///   - number: No other work has it.
    ///   - work: What is done, told whether its time has passed.
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

    /// Returns when the network has changed since it had changed `count` times, or the task is cancelled.
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

    /// Returns when the resolver was shut down, or the task cancelled.
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

    // MARK: What is done

    private func watchNetwork() async {
        guard let monitor = configuration.networkMonitor else { return }
        let changes = monitor.changes()
        var last = monitor.current()
        if last != network { await networkChanged(to: last, isFirst: true) }
        // In a network that answers nothing it takes long to ask again, and the next change must be seen meanwhile.
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

    /// Asks for the NAT64 prefixes that could not be had when the network changed: the system's resolver is often the last
    /// that is there (RFC 7050 §3).
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

    /// The time until the document of the remote switch expires, where that is sooner.
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
