// SPDX-License-Identifier: Apache-2.0

import Beeline

/// Resolves hosts and prints the answers.
struct ResolveRunner: Sendable {
    /// Options for queries and output.
    struct Options: Hashable, Sendable {
        /// Queries every upstream.
        var all = false
        /// Ignores cached answers.
        var fresh = false
        var json = false
    }

    let configuration: ClientConfiguration
    let options: Options

    /// The number of concurrent lookups. The resolver allows 1,024; fewer do not overload the upstreams.
    private static let width = 64

    /// Resolves the hosts concurrently and prints the answers in the given order.
    func run(_ hosts: [Host]) async throws(CommandFailure) -> CommandStatus {
        let client = try BeelineClient.make(configuration)
        await client.resolver.discoverNAT64()
        let results = await hosts.concurrentMap(width: Self.width) { host in
            await options.all ? askAll(host, client.resolver) : [ask(host, client.resolver)]
        }
        if !Task.isCancelled { await client.shutDown() }
        try print(results, hosts)
        // With `--all`, one successful upstream is enough.
        let isResolved = results.allSatisfy { answers in answers.contains { $0.error == nil } }
        return isResolved ? .ok : .hostUnresolved
    }

    // MARK: Asking

    private func ask(_ host: Host, _ resolver: Resolver) async -> NameAnswer {
        do {
            let origin = Origin(scheme: .https, host: host)
            return NameAnswer(
                try await resolver.resolve(origin, fresh: options.fresh, waitsForServices: true)
            )
        } catch {
            return NameAnswer(host, error)
        }
    }

    /// Returns the answer of each upstream in order, with the resolver's checks.
    private func askAll(_ host: Host, _ resolver: Resolver) async -> [NameAnswer] {
        // IP addresses and localhost need no upstream. With HTTPDNS off, the system resolves all names.
        if host.address != nil || host.isLocalhost || !resolver.isEnabled { return [await ask(host, resolver)] }
        let settings = resolver.configuration
        return await resolver.askAll(host, system: settings.upstreams.isEmpty).map {
            NameAnswer(host, report: $0, settings: settings)
        }
    }

    // MARK: Printing

    private func print(_ results: [[NameAnswer]], _ hosts: [Host]) throws(CommandFailure) {
        var text = ""
        if options.json {
            text = JSONOutput.line(ResolveReport(results, hosts)) + "\n"
        } else {
            for answer in results.joined() { text += answer.lines.map { $0 + "\n" }.joined() }
        }
        try StandardOutput.write(text.utf8)
        guard !options.json else { return }
        for answer in results.joined() {
            guard let error = answer.error else { continue }
            CommandFailure(.hostUnresolved, Self.withOptions(error.message)).print()
        }
    }

    /// The message with the options of `resolve`, which has no --no-httpdns.
    static func withOptions(_ message: String) -> String {
        let advice = (library: "allow local answers if this is intended", own: "--allow-local-answers accepts it")
        return CommandFailure.withOptions(message.replacing(advice.library, with: advice.own))
    }
}
