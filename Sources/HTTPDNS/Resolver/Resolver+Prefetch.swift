// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
public import Names

extension Resolver {
    /// Asks for names that will be needed, ``ResolverConfiguration/prefetchWidth`` questions at a time, and returns
    /// when all have been answered or have failed. Names that are known already are not asked for; a
    /// ``BatchUpstream`` that is the first to ask is asked for several in one question.
    ///
    /// - Parameters:
    ///   - hosts: The names.
    ///   - port: Where their endpoints are measured then, as by ``probe(_:port:)``; nil: nowhere.
    public func prefetch(_ hosts: [Host], probing port: UInt16? = nil) async {
        let families = configuration.families
        var unknown: [Host] = []
        var seen: Set<Host> = []
        for host in hosts where host.address == nil && !host.isLocalhost && seen.insert(host).inserted {
            if case .unknown = find(Wanted(host: host, families: families), 443, time.now()) { unknown.append(host) }
        }
        if let (index, batch) = firstBatchUpstream, unknown.count > 1 {
            unknown = await fetch(unknown, families, from: batch, index)
        }
        await forEach(unknown) { _ = try? await self.resolve($0) }
        if let port { await probe(hosts, port: port) }
    }

    /// Runs `body` for each element, at most ``ResolverConfiguration/prefetchWidth`` at a time.
    func forEach<Element: Sendable>(_ elements: [Element], _ body: @escaping @Sendable (Element) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= max(1, configuration.prefetchWidth) { await group.next() }
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

    /// Asks for several names in one question.
    ///
    /// - Returns: The names that have no answer yet.
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
            // What comes belongs to the network in which it was asked for.
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
                // The time of a cancelled caller, and of a resolver that is shut down, is over at once.
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

    /// Keeps an answer that was not asked for by a look-up, where it is good.
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
        // Half an answer is asked for anew.
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
        store(Wanted(host: host, families: families), realm, &entry, now)
        return true
    }

    /// Runs `work` for as long as an upstream has; nil when the time is over, or the resolver is shut down.
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
