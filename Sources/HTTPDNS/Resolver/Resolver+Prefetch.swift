// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

extension Resolver {
    /// Looks up names in advance, ``ResolverConfiguration/prefetchWidth`` at a time. Returns when all lookups have
    /// ended.
    ///
    /// Names in the cache are skipped. If the first upstream that is up is a ``BatchUpstream``, it is asked for several
    /// names per question.
    ///
    /// - Parameters:
    ///   - hosts: The names to look up.
    ///   - port: The port at which to measure the endpoints afterwards, as ``probe(_:port:)`` does; nil: do not
    ///     measure.
    public func prefetch(_ hosts: [Host], probing port: UInt16? = nil) async {
        let families = configuration.families
        var unknown: [Host] = []
        var seen: Set<Host> = []
        for host in hosts where host.address == nil && !host.isLocalhost && seen.insert(host).inserted {
            if case .unknown = find(LookupRequest(host: host, families: families), 443, time.now()) {
                unknown.append(host)
            }
        }
        if let (index, batch) = firstBatchUpstream, unknown.count > 1 {
            unknown = await fetch(unknown, families, from: batch, index)
        }
        await forEach(unknown) { _ = try? await self.resolve($0) }
        if let port { await probe(hosts, port: port) }
    }

    /// Runs `body` for each element, at most ``ResolverConfiguration/prefetchWidth`` at a time. Skips the rest when the task
    /// is cancelled or the resolver is shut down.
    func forEach<Element: Sendable>(_ elements: [Element], _ body: @escaping @Sendable (Element) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= max(1, configuration.prefetchWidth) { await group.next() }
                guard !Task.isCancelled, !state.withLockedValue({ $0.isClosed }) else { break }
                group.addTask { await body(element) }
            }
        }
    }

    private var firstBatchUpstream: (Int, any BatchUpstream)? {
        let now = time.now()
        let first = state.withLockedValue { state -> Int? in
            guard state.isOn, !state.isClosed else { return nil }
            return configuration.upstreams.indices.first { !state.health.isDown($0, now: now) }
        }
        guard let first, let batch = configuration.upstreams[first] as? any BatchUpstream else { return nil }
        return (first, batch)
    }

    /// Asks for several names per question.
    ///
    /// - Returns: The names without an answer.
    private func fetch(
        _ hosts: [Host],
        _ families: Families,
        from upstream: any BatchUpstream,
        _ index: Int
    ) async -> [Host] {
        let names = hosts.filter { belongsToUpstreams($0) }
        let left = NIOLockedValueBox(Set(hosts))
        let size = max(1, upstream.maxNames)
        let chunks = stride(from: 0, to: names.count, by: size).map { Array(names[$0..<min($0 + size, names.count)]) }
        await forEach(chunks) { chunk in
            let begun = self.state.withLockedValue { state -> (realm: Realm, network: String, generation: Int)? in
                guard !state.isClosed, state.isOn, !Task.isCancelled else { return nil }
                state.questionsSent += 1
                state.running += 1
                return (state.realm, state.network.id, state.health.generation)
            }
            // The answer belongs to the network in which it was requested.
            guard let begun else { return }
            defer { self.answered() }
            let result = await self.withinBudget { () async -> Result<[Host: Answer], UpstreamError> in
                do throws(UpstreamError) {
                    return .success(try await upstream.answers(chunk, families: families))
                } catch {
                    return .failure(error)
                }
            }
            let now = self.time.now()
            switch result {
            case .success(let answers)?:
                for (host, answer) in answers
                where self.keep(host, answer, families, from: index, realm: begun.realm, network: begun.network, now) {
                    left.withLockedValue { _ = $0.remove(host) }
                }
            case .failure(let error)?: self.note(error, of: index, begun.generation, now)
            case nil:
                // Cancellation and shutdown also end the budget; neither is the upstream's fault.
                guard !Task.isCancelled, !self.state.withLockedValue({ $0.isClosed }) else { return }
                self.note(UpstreamError(.timeLimit, "no answer in time"), of: index, begun.generation, now)
            }
        }
        return hosts.filter { host in left.withLockedValue { $0.contains(host) } }
    }

    private func note(_ error: UpstreamError, of index: Int, _ generation: Int, _ now: Moment) {
        state.withLockedValue { state in
            if state.health.generation == generation { state.health.failed(index, error, now: now) }
        }
    }

    /// Stores an answer of a batch question if it is complete and passes the checks.
    private func keep(
        _ host: Host,
        _ answer: Answer,
        _ families: Families,
        from index: Int,
        realm: Realm,
        network: String,
        _ now: Moment
    ) -> Bool {
        guard let checked = try? configuration.check.checked(answer, from: upstream(index).kind) else { return false }
        // A partial answer is looked up again by name.
        guard families.members.allSatisfy({ checked[$0] != nil }),
            families.members.contains(where: { !(checked[$0]?.addresses.isEmpty ?? true) })
        else { return false }
        let upstream = upstream(index)
        var entry = AnswerCache.Entry(
            provenance: Provenance(
                upstream: upstream.name,
                kind: upstream.kind,
                network: network,
                extra: checked.extra
            )
        )
        (entry.v4, entry.v6) = configuration.keepingRules(for: host).kept(checked, asked: families, now: now)
        store(LookupRequest(host: host, families: families), realm, &entry, now)
        return true
    }

    /// Runs `work` within ``ResolverConfiguration/upstreamBudget``; nil if the time runs out or the resolver is shut
    /// down.
    func withinBudget<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value? {
        let sleep = time.sleep
        let budget = configuration.upstreamBudget
        return await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                try? await sleep(budget)
                return nil
            }
            group.addTask {
                await self.closed()
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
