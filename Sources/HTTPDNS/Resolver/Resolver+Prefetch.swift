// SPDX-License-Identifier: Apache-2.0

import DirectHTTP
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
public import Names

extension Resolver {
    /// Looks up names in advance, eight at a time. Returns when all lookups have ended.
    ///
    /// Names in the cache are skipped. If the first upstream that is up can answer several names per question (DNSPod,
    /// Aliyun, Baidu), it is asked for several at once.
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
            if case .unknown = find(LookupRequest(host: host, families: families), port: 443, now: time.now()) {
                unknown.append(host)
            }
        }
        if unknown.count > 1 { unknown = await fetch(unknown, families: families) }
        await forEach(unknown) { _ = try? await self.resolveAhead($0) }
        if let port { await probe(hosts, port: port) }
    }

    /// Asks for several names per question, if the first upstream that is up can answer that.
    ///
    /// - Returns: The names without an answer.
    private func fetch(_ hosts: [Host], families: Families) async -> [Host] {
        guard let first = batch(families)?.upstream, let upstream = upstreams[first] as? any BatchUpstream
        else { return hosts }
        let names = state.withLockedValue { state in
            // A name that DNS cannot encode would fail the question for the others.
            hosts.filter { state.machine.isOn && state.machine.policy.isForUpstreams($0) && $0.dnsName != nil }
        }
        let left = NIOLockedValueBox(Set(hosts))
        let size = max(1, upstream.maxNames)
        let chunks = stride(from: 0, to: names.count, by: size).map { Array(names[$0..<min($0 + size, names.count)]) }
        await forEach(chunks) { chunk in
            // The answer belongs to the network in which it was requested.
            guard !Task.isCancelled, let batch = self.batch(families, of: first), self.questionBegins() else { return }
            let result = await self.result(of: batch, for: chunk, from: upstream)
            if let result {
                self.handle(.batchAnswered(batch, result), now: self.time.now())
                let answered = (try? result.get()) ?? [:]
                left.withLockedValue { $0.subtract(answered.keys) }
            }
            self.questionEnded()
        }
        return hosts.filter { host in left.withLockedValue { $0.contains(host) } }
    }

    /// The question for several names to the first upstream that is up, or to the given one; nil if it may not be
    /// asked.
    private func batch(_ families: Families, of upstream: Int? = nil) -> BatchQuestion? {
        let now = time.now()
        return state.withLockedValue { $0.machine.batch(of: upstream, families: families, now: now) }
    }

    /// The usable answers to a question for several names; nil if the resolver or the task has ended.
    private func result(
        of batch: BatchQuestion,
        for hosts: [Host],
        from upstream: any BatchUpstream
    ) async -> Result<[Host: Answer], UpstreamError>? {
        let result = await withinBudget { () async -> Result<[Host: Answer], UpstreamError>? in
            do throws(UpstreamError) {
                return .success(try await upstream.answers(hosts, families: batch.families))
            } catch {
                return .failure(error)
            }
        }
        guard let result else {
            // Cancellation and shutdown also end the budget; neither is the upstream's fault.
            guard !Task.isCancelled, !state.withLockedValue({ $0.machine.isClosed }) else { return nil }
            return .failure(UpstreamError(.timeLimit, "no answer in time"))
        }
        return result.map { answers in
            answers.compactMapValues { answer in
                guard let checked = try? configuration.check.checked(answer, from: upstream.kind) else { return nil }
                // Names with a partial answer are looked up again one at a time.
                let isWhole = batch.families.isSubset(of: checked.families)
                return isWhole && checked.hasAddresses(of: batch.families) ? checked : nil
            }
        }
    }

    // MARK: Measuring

    /// Measures the endpoints of names with a TCP connection to each, which is closed once established. Returns when
    /// all have been tried. Later resolutions with the same port put near endpoints first and failed ones last.
    ///
    /// A probe costs the server a connection and sends no data; use it for the few names that a program depends on.
    /// Names with a single address are skipped.
    ///
    /// - Parameters:
    ///   - hosts: The names; those that cannot be resolved are skipped.
    ///   - port: The port to connect to.
    public func probe(_ hosts: [Host], port: UInt16 = 443) async {
        var places: [(host: Host, endpoint: Endpoint)] = []
        for host in hosts where host.address == nil {
            guard let resolution = try? await resolve(host, port: port), resolution.addresses.count > 1 else {
                continue
            }
            places += resolution.endpoints.prefix(configuration.limits.maxProbedEndpoints).map { (host, $0) }
        }
        await forEach(places) { place in
            let begin = self.time.now()
            let isConnected = await self.connects(to: place.endpoint)
            let outcome: AttemptOutcome = isConnected ? .connected(after: self.time.now() - begin) : .failed
            guard !Task.isCancelled else { return }
            self.report(outcome, at: place.endpoint, for: place.host)
        }
    }

    private func connects(to endpoint: Endpoint) async -> Bool {
        do {
            let address = try SocketAddress(ipAddress: "\(endpoint.address)", port: Int(endpoint.port))
            let bootstrap = ClientBootstrap(group: loop).connectTimeout(TimeAmount(limit: configuration.limits.probe))
            // The server may have closed the connection already, but it was established.
            try await bootstrap.connect(to: address).get().close(promise: nil)
            return true
        } catch {
            return false
        }
    }

    // MARK: Common

    /// Runs `body` for each element, at most `prefetchWidth` at a time. Skips the rest when the task
    /// is cancelled or the resolver is shut down.
    func forEach<Element: Sendable>(_ elements: [Element], _ body: @escaping @Sendable (Element) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, element) in elements.enumerated() {
                if index >= max(1, configuration.limits.prefetchWidth) { await group.next() }
                guard !Task.isCancelled, !state.withLockedValue({ $0.machine.isClosed }) else { break }
                group.addTask { await body(element) }
            }
        }
    }

    /// Runs `work` within ``ResolverConfiguration/Limits/upstream``; nil if the time runs out or the resolver is shut
    /// down.
    func withinBudget<Value: Sendable>(_ work: @escaping @Sendable () async -> Value?) async -> Value? {
        await firstResult(
            within: configuration.limits.upstream,
            sleep: time.sleep,
            until: { await self.closed() },
            of: work
        )
    }
}
