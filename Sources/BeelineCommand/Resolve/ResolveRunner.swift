// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Asks for names and prints what is said of them.
struct ResolveRunner: Sendable {
    /// How it asks and prints.
    struct Options: Hashable, Sendable {
        /// Every upstream is asked.
        var all = false
        /// What is kept is not used.
        var fresh = false
        var json = false
    }

    private let configuration: ClientConfiguration
    private let options: Options

    init(_ configuration: ClientConfiguration, _ options: Options) {
        self.configuration = configuration
        self.options = options
    }

    /// Asks for all names at the same time, and prints them in their order.
    func run(_ hosts: [Host]) async -> CommandStatus {
        let client: BeelineClient
        do {
            client = try BeelineClient(configuration)
        } catch {
            let failure = CommandFailure(.usage, error.message)
            failure.print()
            return failure.status
        }
        let results = await hosts.concurrentMap { host in
            await options.all ? askAll(host, client.resolver) : [ask(host, client.resolver)]
        }
        if !Task.isCancelled { await client.shutDown() }
        do {
            try print(results, hosts)
        } catch {
            let failure = CommandFailure(.writeFailed, "standard output: \(error)", isQuiet: error.isBrokenPipe)
            failure.print()
            return failure.status
        }
        // With --all a name is resolved if anyone could.
        let isResolved = results.allSatisfy { answers in answers.contains { $0.error == nil } }
        return isResolved ? .ok : .hostUnresolved
    }

    // MARK: Asking

    private func ask(_ host: Host, _ resolver: Resolver) async -> NameAnswer {
        do {
            return NameAnswer(try await resolver.resolve(host, fresh: options.fresh))
        } catch {
            return NameAnswer(host, error)
        }
    }

    /// What each upstream says, in their order, checked as the resolver would.
    private func askAll(_ host: Host, _ resolver: Resolver) async -> [NameAnswer] {
        // An address and localhost are nobody's business.
        if host.address != nil || host.isLocalhost { return [await ask(host, resolver)] }
        let settings = resolver.configuration
        let upstreams = resolver.isEnabled ? settings.upstreams : [settings.system].compactMap { $0 }
        return await upstreams.concurrentMap { upstream in
            do {
                return NameAnswer(host, try await Self.answer(host, upstream, settings), of: upstream, settings)
            } catch let error as UpstreamError {
                return NameAnswer(host, upstream.name, error)
            } catch {
                let limit = UpstreamError(.timeLimit, "no answer within \(settings.timeLimit.seconds) s")
                return NameAnswer(host, upstream.name, limit)
            }
        }
    }

    private static func answer(
        _ host: Host,
        _ upstream: any Upstream,
        _ settings: ResolverConfiguration
    ) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask {
                try settings.check.checked(
                    try await upstream.answer(Question(host, families: settings.families)),
                    from: upstream.kind
                )
            }
            group.addTask {
                try await Task.sleep(for: settings.timeLimit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let answer = first else { throw CancellationError() }
            return answer
        }
    }

    // MARK: Printing

    private func print(_ results: [[NameAnswer]], _ hosts: [Host]) throws(FileDescriptor.Failure) {
        var text = ""
        if options.json {
            text = JSONText.line(ResolveReport(results, hosts)) + "\n"
        } else {
            for answer in results.joined() { text += answer.lines.map { $0 + "\n" }.joined() }
        }
        try FileDescriptor.standardOutput.write(text.utf8)
        guard !options.json else { return }
        for answer in results.joined() {
            if let error = answer.error { CommandFailure(.hostUnresolved, error.message).print() }
        }
    }
}

extension Collection where Self: Sendable, Element: Sendable {
    /// The results of `transform`, all of which run at the same time, in the order of the elements.
    fileprivate func concurrentMap<Result: Sendable>(
        _ transform: @escaping @Sendable (Element) async -> Result
    ) async -> [Result] {
        await withTaskGroup(of: (Int, Result).self) { group in
            for (index, element) in enumerated() {
                group.addTask { (index, await transform(element)) }
            }
            var results: [Int: Result] = [:]
            for await (index, result) in group { results[index] = result }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }
}
