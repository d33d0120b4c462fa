// SPDX-License-Identifier: Apache-2.0

import Beeline
import BeelineServer

/// Looks up records of one type and prints them as `dig +short` does, or as JSON.
struct RecordRunner: Sendable {
    let configuration: ClientConfiguration
    let type: String
    let json: Bool

    func run(_ names: [String]) async throws(CommandFailure) -> CommandStatus {
        let client = try BeelineClient.make(configuration)
        let lookup: RecordLookup?
        do {
            lookup = try RecordLookup(type, resolver: client.resolver)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        guard let lookup else {
            throw CommandFailure(.usage, "--type \"\(type)\" is not a record type; write TXT, MX, HTTPS or TYPE65")
        }
        // Check all names first. Otherwise a malformed one would discard the answers for the names before it.
        for name in names where !RecordLookup.isName(name) {
            throw CommandFailure(.malformedURL, "\"\(name)\" is not a name")
        }
        await client.resolver.discoverNAT64()
        var outcomes: [(name: String, outcome: RecordLookup.Outcome)] = []
        for name in names {
            guard !Task.isCancelled, let outcome = await lookup.records(of: name) else { break }
            outcomes.append((name, outcome))
        }
        // The process ends by the signal.
        guard !Task.isCancelled else { return .ok }
        await client.shutDown()
        let lines = outcomes.flatMap { $0.outcome.records.map { $0.data + "\n" } }
        let document = Document(names: outcomes.map { Report($0.name, $0.outcome) })
        let text = json ? JSONOutput.line(document) + "\n" : lines.joined()
        try StandardOutput.write(text.utf8)
        var status = CommandStatus.ok
        let carriesMessages = client.resolver.configuration.upstreams.contains { $0 is any MessageUpstream }
        for (name, outcome) in outcomes where outcome.code != "NOERROR" {
            status = .hostUnresolved
            guard !json else { continue }
            let reason = Self.reason(outcome, carriesMessages: carriesMessages)
            CommandFailure(.hostUnresolved, "\(name): \(reason)").print()
        }
        return status
    }

    /// Why there is no answer, in words.
    private static func reason(_ outcome: RecordLookup.Outcome, carriesMessages: Bool) -> String {
        if outcome.isFailure, !outcome.failures.isEmpty {
            let list = outcome.failures.map(\.description).joined(separator: "; ")
            return "no upstream gave a usable answer: \(ResolveRunner.withOptions(list))"
        }
        if outcome.code == "NOTIMP", !carriesMessages {
            return "no upstream carries records of this type; --dns with doh, dot or dns names one that does"
        }
        let reasons = outcome.reasons.isEmpty ? "" : ": " + outcome.reasons.joined(separator: ", ")
        return "the answer is \(outcome.code)\(reasons)"
    }

    private struct Document: Encodable {
        var names: [Report]
    }

    /// The JSON of a name. Field names are stable within a major version.
    private struct Report: Encodable {
        var name: String
        /// The response code, such as `NOERROR`.
        var status: String
        var verified: Bool
        var records: [RecordLookup.Record]
        var errors: [String]
        var failures: [FailedUpstreamReport]

        init(_ name: String, _ outcome: RecordLookup.Outcome) {
            self.name = name
            status = outcome.code
            verified = outcome.isVerified
            records = outcome.records
            errors = outcome.errors
            failures = outcome.failures.map(FailedUpstreamReport.init)
        }
    }
}
